/** The safeguards of the adapters, which users copy, and of the console. */
import type { Safeguard } from './safeguard.ts';

const ADAPTERS: readonly Safeguard[] = [
  {
    name: 'sends no-store on success: Express',
    file: 'examples/express/adapter.ts',
    text: "'no-store'",
    instead: "'private'",
    tests: 'test/examples/adapters.test.ts',
  },
  {
    name: 'sends no-store on success: Fastify',
    file: 'examples/fastify/adapter.ts',
    text: "'no-store'",
    instead: "'private'",
    tests: 'test/examples/adapters.test.ts',
  },
  {
    name: 'sends no-store on success: Hono',
    file: 'examples/hono/adapter.ts',
    text: "if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store');",
    instead: '',
    tests: 'test/examples/adapters.test.ts',
  },
];

const CONSOLE: readonly Safeguard[] = [
  {
    name: 'console: rejects forms from other sites',
    file: 'examples/console/app.ts',
    text: 'app.use(csrf({ origin:',
    instead: 'void (({ origin:',
  },
  {
    name: 'console: a form issues only one key',
    file: 'examples/console/forms.ts',
    text: 'if (wasOpen) return;',
    instead: 'return;',
  },
  {
    name: 'console: viewers change nothing',
    file: 'examples/console/forms.ts',
    text: 'if (authority === null)',
    instead: 'if (false)',
  },
  {
    name: 'console: requires a session',
    file: 'examples/console/sessions.ts',
    text: 'if (member === null) return c.redirect(SIGN_IN, 303);',
    instead: '',
  },
  {
    name: 'console: a link works once',
    file: 'examples/console/link.ts',
    text: '    links.end(link);\n',
    instead: '',
  },
  {
    name: 'console: a link expires',
    file: 'examples/console/link.ts',
    text: 'now() < (endings.get(digestOf(ticket)) ?? 0)',
    instead: 'endings.has(digestOf(ticket))',
  },
  {
    name: 'console: opening a link signs nobody in',
    file: 'examples/console/link.ts',
    text: '    if (link === undefined) return c.html(noLinkPage(null));\n',
    instead: '    if (link === undefined) return c.html(noLinkPage(null));\n    links.end(link);\n',
  },
  {
    name: 'console: a link appears in no Referer',
    file: 'examples/console/app.ts',
    text: "referrerPolicy: 'strict-origin'",
    instead: "referrerPolicy: 'same-origin'",
  },
  {
    name: 'console: a link is not a session',
    file: 'examples/console/link.ts',
    text: 'const sessions = createTickets(SESSION_MS, now);',
    instead: 'const sessions = links;',
  },
  {
    name: 'console: a sign-in ends the previous session',
    file: 'examples/console/link.ts',
    text: '    links.end(link);\n    sessions.end(sessionOf(c.req.raw));\n',
    instead: '    links.end(link);\n',
  },
  {
    name: 'console: sign-out ends the session',
    file: 'examples/console/link.ts',
    text: '    sessions.end(sessionOf(c.req.raw));\n    deleteCookie',
    instead: '    deleteCookie',
  },
  {
    name: 'console: deleted users lose access',
    file: 'examples/console/server.ts',
    text: "() => findMember(platform, ENTITY, admin?.id ?? '')",
    instead: "((member) => () => member)(findMember(platform, ENTITY, admin?.id ?? ''))",
  },
  {
    name: 'ignores made-up entries in X-Forwarded-For',
    file: 'examples/more/client-address.ts',
    text: 'entries.at(-proxies)',
    instead: 'entries.at(proxies - 1)',
  },
  {
    name: 'console: rejects a truncated form',
    file: 'examples/console/app.ts',
    text: 'if (isOurs) throw error;',
    instead: 'throw error;',
  },
  {
    name: 'console: a role limits what it grants',
    file: 'examples/console/server.ts',
    text: 'return { entityUuid, scopes, actor: email };',
    instead: "return { entityUuid, scopes: 'all', actor: email };",
  },
];

/** HTTP in front of the routes, and how the service ends. */
const EDGE: readonly Safeguard[] = [
  {
    name: 'the end: an instance without change messages is not ready',
    file: 'examples/platform/host/readiness.ts',
    text: "return channel === 'starting' ? 'starting' : 'ready';",
    instead: "return 'ready';",
    tests: 'test/examples/readiness.test.ts',
  },
  {
    name: 'the end: closes streams',
    file: 'examples/platform/host/open-responses.ts',
    text: 'else if (isStanding(res)) res.end();',
    instead: '',
    tests: 'test/examples/platform.test.ts',
  },
  {
    name: 'the end: a connection closes with its answer',
    file: 'examples/platform/host/open-responses.ts',
    text: "if (!res.headersSent) res.setHeader('Connection', 'close');",
    instead: 'if (!res.headersSent) continue;',
    tests: 'test/examples/platform.test.ts',
  },
  {
    name: 'the end: stops at once at the second signal',
    file: 'examples/platform/host/listen.ts',
    text: 'for (const signal of SIGNALS) process.removeListener(signal, begin);',
    instead: '',
    tests: 'test/slow/shut-down.test.ts',
  },
  {
    name: 'polls a database that publishes nothing',
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
