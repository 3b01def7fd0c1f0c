/** The safeguards of the cache, of tokens and of MCP. */
import type { Safeguard } from './safeguard.ts';

const CACHE = 'test/cache';
const JWT = 'test/jwt';

const CACHED: readonly Safeguard[] = [
  {
    name: 'cache: single flight',
    file: 'src/cache/flights.ts',
    text: 'const flight = flights.get(name);',
    instead: 'const flight = undefined as Flight | undefined;',
    tests: CACHE,
  },
  {
    name: 'cache: generation check',
    file: 'src/cache/changes.ts',
    text: 'changedIn !== undefined && changedIn > entry.generation',
    instead: 'false',
    tests: CACHE,
  },
  {
    name: 'cache: bound of unknown digests',
    file: 'src/cache/entries.ts',
    text: 'setBounded(absent, name, entry, MAX_ABSENT)',
    instead: 'setBounded(absent, name, entry, 1e9)',
    tests: CACHE,
  },
];

const TOKENS: readonly Safeguard[] = [
  {
    name: 'tokens: nothing wider than the key',
    file: 'src/jwt/exchange.ts',
    text: '!requested.every((scope) => granted.includes(scope))',
    instead: 'false',
    tests: JWT,
  },
  {
    name: 'tokens: none exchanged again',
    file: 'src/jwt/exchange.ts',
    text: "principal.via !== 'key'",
    instead: 'false',
    tests: JWT,
  },
  {
    name: 'tokens: no longer than the key',
    file: 'src/jwt/issuer.ts',
    text: 'Math.min(latest, Math.floor(principal.expiresAt / 1000))',
    instead: 'latest',
    tests: JWT,
  },
  {
    name: 'tokens: the header',
    file: 'src/jwt/verification-keys.ts',
    text: '    if (!holdsAll(HEADER_CHECKS, header)) throw tokenRefused();\n',
    instead: '',
    tests: JWT,
  },
];

export const WINGS: readonly Safeguard[] = [...CACHED, ...TOKENS];
