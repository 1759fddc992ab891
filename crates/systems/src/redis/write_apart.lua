-- Writes fields of a record whose indexes lie on other nodes, and numbers the write.
-- KEYS: the record, then the counter of its slot.
-- ARGV: 'XX' if the record must exist, otherwise ''; then field, value, field, value, ...
-- Answers the write's number, greater than that of every earlier write in the slot; 0 if the record does
-- not exist.
if ARGV[1] == 'XX' and redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
local number = redis.call('INCR', KEYS[2])
-- A call takes some thousand arguments at most.
for first = 2, #ARGV, 1000 do
  redis.call('HSET', KEYS[1], unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
return number
