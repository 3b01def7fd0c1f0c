/** The safeguards of the cache, of tokens and of MCP. */
import type { Safeguard } from './safeguard.ts';

const CACHE = 'test/cache';
const JWT = 'test/jwt';
const MCP = 'test/mcp';

const CACHED: readonly Safeguard[] = [
  {
    name: 'cache: single flight',
    file: 'src/cache/pending-lookups.ts',
    text: 'const lookup = pending.get(name);',
    instead: 'const lookup = undefined as PendingLookup | undefined;',
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
    tests: 'test/slow/unknown-keys.test.ts',
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

const GATE: readonly Safeguard[] = [
  {
    name: 'MCP: a token for another resource',
    file: 'src/mcp/audience.ts',
    text: "token.includes('.') && audienceOf(token) !== resource",
    instead: 'false',
    tests: MCP,
  },
  {
    name: 'MCP: a session of another key',
    file: 'src/mcp/gate.ts',
    text: '(await config.sessionOwner(sessionId)) === sessionOwner',
    instead: 'true',
    tests: MCP,
  },
  {
    name: 'MCP: the tool guards itself',
    file: 'src/mcp/tools.ts',
    text: 'policy.authorize(principal, tool, { entityUuid })',
    instead: 'principal.entityUuid',
    tests: MCP,
  },
  {
    name: 'MCP: nothing that was not judged',
    file: 'src/mcp/gate.ts',
    text: 'if (parsedBody === undefined) return createRefusal(400);',
    instead: '',
    tests: MCP,
  },
  {
    name: 'MCP: no length but one that holds',
    file: 'src/mcp/body.ts',
    text: '!isCoded && length',
    instead: 'length',
    tests: MCP,
  },
];

export const WINGS: readonly Safeguard[] = [...CACHED, ...TOKENS, ...GATE];
