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

const CONSOLE: readonly Omit<Safeguard, 'tests'>[] = [
  {
    name: 'console: forms of other sites',
    file: 'examples/console/app.ts',
    text: 'app.use(csrf({ origin:',
    instead: 'void (({ origin:',
  },
  {
    name: 'console: a form makes one key',
    file: 'examples/console/keys.ts',
    text: 'if (wasOpen) return;',
    instead: 'return;',
  },
  {
    name: 'console: who only looks on',
    file: 'examples/console/keys.ts',
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
    instead: 'const seconds = 0;',
  },
  {
    name: 'console: whoever is over names no more emails',
    file: 'examples/console/throttle.ts',
    text: 'if (seconds > 0) return seconds;',
    instead: 'if (seconds > 0) return Math.max(seconds, emails.count(pairOf(address, email)));',
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
    text: 'return { entityUuid, scopes };',
    instead: "return { entityUuid, scopes: ['*:*'] };",
  },
];

export const EXAMPLES: readonly Safeguard[] = [
  ...ADAPTERS,
  ...CONSOLE.map((safeguard) => ({ ...safeguard, tests: 'test/examples/console-' })),
];
