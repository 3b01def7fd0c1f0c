/** The safeguards of the adapters, which users copy, and of the console. */
import type { Safeguard } from './safeguard.ts';

const ADAPTERS: readonly Safeguard[] = [
  {
    name: 'no-store on success: Express',
    file: 'examples/express/adapter.ts',
    text: "'no-store'",
    instead: "'private'",
    tests: 'test/examples/adapters.test.ts',
  },
  {
    name: 'no-store on success: Fastify',
    file: 'examples/fastify/adapter.ts',
    text: "'no-store'",
    instead: "'private'",
    tests: 'test/examples/adapters.test.ts',
  },
  {
    name: 'no-store on success: Hono',
    file: 'examples/hono/adapter.ts',
    text: "if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store');",
    instead: '',
    tests: 'test/examples/adapters.test.ts',
  },
];

const CONSOLE: readonly Safeguard[] = [
  {
    name: 'console: forms of other sites',
    file: 'examples/console/app.ts',
    text: 'app.use(csrf({ origin:',
    instead: 'void (({ origin:',
  },
  {
    name: 'console: a form makes one key',
    file: 'examples/console/forms.ts',
    text: 'if (wasOpen) return;',
    instead: 'return;',
  },
  {
    name: 'console: who only looks on',
    file: 'examples/console/forms.ts',
    text: 'if (authority === null)',
    instead: 'if (false)',
  },
  {
    name: 'console: the session at sign-out',
    file: 'examples/console/sessions.ts',
    text: '    end(c) {\n      sessions.delete(idOf(c));\n',
    instead: '    end(c) {\n',
  },
  {
    name: 'console: users who are deleted',
    file: 'examples/console/sessions.ts',
    text: 'if (!session || !member)',
    instead: 'if (!session)',
  },
  {
    name: 'console: whoever guesses waits',
    file: 'examples/console/sessions.ts',
    text: 'const seconds = throttle.countTry(address, email);',
    instead: 'const seconds = throttle.countTry(address, email) - 9e9;',
  },
  {
    name: 'console: whoever is over names no more emails',
    file: 'examples/console/throttle.ts',
    text: 'if (seconds > 0) return seconds;\n',
    instead:
      'if (seconds > 0) pairs.count(pairOf(address, email));\nif (seconds > 0) return seconds;',
  },
  {
    name: 'console: guesses at many members are slowed down',
    file: 'examples/console/throttle.ts',
    text: 'addresses.waitOf(address), emails',
    instead: '0, emails',
  },
  {
    name: 'console: guesses from many addresses are slowed down',
    file: 'examples/console/throttle.ts',
    text: 'addresses.waitOf(address), emails.waitOf(cut(email))',
    instead: 'addresses.waitOf(address)',
  },
  {
    name: 'console: whoever has signed in from there is not slowed down',
    file: 'examples/console/throttle.ts',
    text: 'if (stopped > 0 || known.has(pair))',
    instead: 'if (stopped > 0)',
  },
  {
    name: 'console: a right password is no wrong try',
    file: 'examples/console/throttle.ts',
    text: 'addresses.takeBack(address);',
    instead: '',
  },
  {
    name: 'console: a try that was not made is none',
    file: 'examples/platform/host/accounts.ts',
    text: '      attempt.begin?.();\n      return hash',
    instead: '      return hash',
  },
  {
    name: 'console: few passwords are hashed at a time',
    file: 'examples/platform/host/accounts.ts',
    text: 'return inTurn(work, attempt);',
    instead: 'return work();',
  },
  {
    name: 'console: members come before a flood',
    file: 'examples/platform/host/turns.ts',
    text: 'first.size > 0 ? first : others',
    instead: 'others.size > 0 ? others : first',
    tests: 'test/examples/turns.test.ts',
  },
  {
    name: 'a client’s own invention in X-Forwarded-For',
    file: 'examples/platform/host/client-address.ts',
    text: 'entries.at(-proxies)',
    instead: 'entries.at(proxies - 1)',
  },
  {
    name: 'a proxy without a place for the client’s address',
    file: 'examples/platform/host/client-address.ts',
    text: "if (protocol === 'http:' && LOCAL_HOSTS.includes(hostname)) return socketAddress;",
    instead: 'if (protocol !== hostname) return socketAddress;',
  },
  {
    name: 'console: a form that is cut short',
    file: 'examples/console/app.ts',
    text: 'if (isOurs) throw error;',
    instead: 'throw error;',
  },
  {
    name: 'console: what a role hands out',
    file: 'examples/platform/host/accounts.ts',
    text: 'return { entityUuid, scopes, actor: email };',
    instead: "return { entityUuid, scopes: 'all', actor: email };",
  },
];

/** What stands in front of the routes, and how the service ends. */
const EDGE: readonly Safeguard[] = [
  {
    name: 'other sites: only those that are named',
    file: 'examples/platform/host/cors.ts',
    text: 'if (!allowed.has(origin)) return null;',
    instead: '',
    tests: 'test/examples/cors.test.ts',
  },
  {
    name: 'other sites: a cache does not hand on what was for one',
    file: 'examples/platform/host/cors.ts',
    text: "res.setHeader('Vary', 'Origin');",
    instead: '',
    tests: 'test/examples/cors.test.ts',
  },
  {
    name: 'other sites: none in the console',
    file: 'examples/platform/host/cors.ts',
    text: '|| !PATHS.test(url)',
    instead: '',
    tests: 'test/examples/cors.test.ts',
  },
  {
    name: 'the last signing key stays published',
    file: 'examples/platform/host/tokens.ts',
    text: 'kid, otherKeys, now',
    instead: 'kid, now',
    tests: 'test/examples/signing-key.test.ts',
  },
  {
    name: 'the end: not ready from then on',
    file: 'examples/platform/host/readiness.ts',
    text: "if (isDraining) return 'draining';",
    instead: '',
    tests: 'test/examples/readiness.test.ts',
  },
  {
    name: 'the end: an instance that hears of nothing is not ready',
    file: 'examples/platform/host/readiness.ts',
    text: "return channel === 'starting' ? 'starting' : 'ready';",
    instead: "return 'ready';",
    tests: 'test/examples/readiness.test.ts',
  },
  {
    name: 'the end: streams',
    file: 'examples/platform/host/open-responses.ts',
    text: 'else if (isStanding(res)) res.end();',
    instead: '',
    tests: 'test/examples/platform.test.ts',
  },
  {
    name: 'the end: a connection ends with its answer',
    file: 'examples/platform/host/open-responses.ts',
    text: "if (!res.headersSent) res.setHeader('Connection', 'close');",
    instead: 'if (!res.headersSent) continue;',
    tests: 'test/examples/platform.test.ts',
  },
  {
    name: 'the end: at once for whoever says it twice',
    file: 'examples/platform/host/listen.ts',
    text: 'for (const signal of SIGNALS) process.removeListener(signal, begin);',
    instead: '',
    tests: 'test/slow/shut-down.test.ts',
  },
  {
    name: 'a database that tells nobody is asked',
    file: 'examples/platform/host/boot.ts',
    text: 'invalidation: invalidation ?? polling,',
    instead: 'invalidation,',
    tests: 'test/slow/polling.test.ts',
  },
];

export const EXAMPLES: readonly Safeguard[] = [
  ...ADAPTERS,
  ...EDGE,
  ...CONSOLE.map((safeguard) => ({ tests: 'test/examples/c', ...safeguard })),
];
