-- Redis's half of the application's writes, each of them atomic.
-- KEYS[1] is the record; ARGV is the verb, then epoch, fence and rank of the version.
--   write:  then the value, its expiry, and the instant from which it must not be written
--   remove: nothing more
-- Answers 1 when Redis holds the result, 0 when it was left alone.

local function version_of(value)
  local readable, record = pcall(cjson.decode, value)
  if not readable or type(record) ~= 'table' then
    return {0, 0, 0}
  end
  local rank = record.status == 'in_progress' and 0 or 1
  return {tonumber(record.epoch) or 0, tonumber(record.fence) or 0, rank}
end

local function is_newer(one, other)
  for at = 1, 3 do
    if one[at] ~= other[at] then
      return one[at] > other[at]
    end
  end
  return false
end

local mine = {tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])}
local held = redis.call('GET', KEYS[1])

if ARGV[1] == 'remove' then
  if held and not is_newer(version_of(held), mine) then
    redis.call('DEL', KEYS[1])
  end
  return 1
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now >= tonumber(ARGV[7]) or (held and is_newer(version_of(held), mine)) then
  return 0
end
redis.call('SET', KEYS[1], ARGV[5], 'PXAT', ARGV[6])
return 1
