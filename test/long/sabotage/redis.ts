/** The safeguards of the Redis store. */
import type { Safeguard } from './safeguard.ts';

const REDIS = 'test/servers/redis';

export const IN_REDIS: readonly Safeguard[] = [
  {
    name: 'separates two services on one server: Redis',
    file: 'src/stores/redis/place.ts',
    text: '!clients.some(hasKeyPrefix)',
    instead: 'true',
    tests: REDIS,
  },
  {
    name: 'rejects answers to other questions: Redis',
    file: 'src/stores/redis/client.ts',
    text: 'reply[0] !== question',
    instead: 'false',
    tests: REDIS,
  },
  {
    name: 'accepts one spelling of a field: Redis',
    file: 'src/stores/redis/schema.ts',
    text: 'formatField(value) === json',
    instead: 'true',
    tests: REDIS,
  },
  {
    name: 'escapes characters that a client could cut in two: Redis',
    file: 'src/stores/redis/schema.ts',
    text: '.replace(/[\\u0080-\\uffff]/g,',
    instead: '.replace(/[]/g,',
    tests: REDIS,
  },
  {
    name: 'only sends commands that get the keyPrefix: Redis',
    file: 'src/stores/redis/client.ts',
    text: "['eval', script",
    instead: "['EVAL' as 'eval', script",
    tests: REDIS,
  },
  {
    name: 'conditional update: Redis',
    file: 'src/stores/redis/scripts.ts',
    text: "if isMark and isSeal and (seal == 'null' or seal ~= ARGV[4]) then return 0 end",
    instead: '',
    tests: REDIS,
  },
  {
    name: 'conditional update: Redis, the seal as read',
    file: 'src/stores/redis/scripts.ts',
    text: "(seal == 'null' or seal ~= ARGV[4])",
    instead: "seal == 'null'",
    tests: REDIS,
  },
  {
    name: 'conditional update: MySQL, the seal as read',
    file: 'src/stores/mysql/statements.ts',
    text: 'CAST(seal AS BINARY) = ?',
    instead: '(seal IS NOT NULL AND ? IS NOT NULL)',
    tests: 'test/servers/mysql',
  },
  {
    name: 'conditional update: Redis, an existing revocation',
    file: 'src/stores/redis/scripts.ts',
    text: "if kind ~= 'revoke' then return 0 end",
    instead: '',
    tests: REDIS,
  },
  {
    name: 'does not read from a demoted primary: Redis',
    file: 'src/stores/redis/scripts.ts',
    text: "return redis.error_reply('READONLY keys are not read from a replica')",
    instead: '',
    tests: REDIS,
  },
  {
    name: 'reads while writes are paused: Redis',
    file: 'src/stores/redis/scripts.ts',
    text: '#!lua flags=no-writes\n',
    instead: '#!lua\n',
    tests: REDIS,
  },
  {
    name: 'rejects a replica named by Sentinel: Redis',
    file: 'src/stores/redis/client.ts',
    text: "return 'call' in client && options?.role === 'slave';",
    instead: 'return false;',
    tests: REDIS,
  },
  {
    name: 'sends no query that no caller waits for: Redis',
    file: 'src/stores/redis/client.ts',
    text: 'signal.throwIfAborted();',
    instead: '',
    tests: REDIS,
  },
  {
    name: 'usage does not delay look-ups: Redis',
    file: 'src/stores/redis/writes.ts',
    text: 'touchOne(usageLink, keys, entry)',
    instead: 'touchOne(link, keys, entry)',
    tests: REDIS,
  },
  {
    name: 'abandons a usage write that is never answered: Redis',
    file: 'src/stores/redis/writes.ts',
    text: 'within(TOUCH_MS, touching, giveUp, true)',
    instead: 'touching',
    tests: REDIS,
  },
  {
    name: 'a purge checks again: Redis',
    file: 'src/stores/redis/scripts.ts',
    text: 'if not hasEnded then return 0 end',
    instead: '',
    tests: REDIS,
  },
];
