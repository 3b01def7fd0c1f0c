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
    name: 'a bug of another type than Error: Express',
    file: 'examples/express/adapter.ts',
    text: "next(bug instanceof Error ? bug : new Error('The guard failed', { cause: bug }));",
    instead: 'next(bug);',
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
    name: 'console: a form of another session',
    file: 'examples/console/sessions.ts',
    text: 'if (!isOwn) throw new Refused(403, OTHER_SESSION);',
    instead: 'void isOwn;',
  },
  {
    name: 'console: a forged notice',
    file: 'examples/console/forms.ts',
    text: "await getSignedCookie(c, c.var.member.session, 'notice')",
    instead: "(await import('hono/cookie')).getCookie(c, 'notice')",
  },
  {
    name: 'console: a keyless key is not rotated',
    file: 'examples/console/pages/manage-key.ts',
    text: ' && key.trust === null',
    instead: '',
  },
  {
    name: 'console: a viewer without rights',
    file: 'examples/console/forms.ts',
    text: 'if (authority === null)',
    instead: 'if (false)',
  },
  {
    name: 'console: nobody without a session',
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
    name: 'console: a link ends after a while',
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
    name: 'console: a link is in no Referer',
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
    name: 'console: the session before ends at a sign-in',
    file: 'examples/console/link.ts',
    text: '    links.end(link);\n    sessions.end(sessionOf(c.req.raw));\n',
    instead: '    links.end(link);\n',
  },
  {
    name: 'console: the session at sign-out',
    file: 'examples/console/link.ts',
    text: '    sessions.end(sessionOf(c.req.raw));\n    deleteCookie',
    instead: '    deleteCookie',
  },
  {
    name: 'console: users who are deleted',
    file: 'examples/console/server.ts',
    text: "() => findMember(platform, ENTITY, admin?.id ?? '')",
    instead: "((member) => () => member)(findMember(platform, ENTITY, admin?.id ?? ''))",
  },
  {
    name: 'a client’s own invention in X-Forwarded-For',
    file: 'examples/more/client-address.ts',
    text: 'entries.at(-proxies)',
    instead: 'entries.at(proxies - 1)',
  },
  {
    name: 'console: a form that is cut short',
    file: 'examples/console/app.ts',
    text: 'if (isOurs) throw error;',
    instead: 'throw error;',
  },
  {
    name: 'console: what a role hands out',
    file: 'examples/console/server.ts',
    text: 'return { entityId, scopes, actor: email };',
    instead: "return { entityId, scopes: 'all', actor: email };",
  },
];

/** The code in front of the routes, and the shutdown. */
const EDGE: readonly Safeguard[] = [
  {
    name: 'the end: an instance without its channel is not ready',
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
    name: 'the end: a second signal ends it at once',
    file: 'examples/platform/host/listen.ts',
    text: 'for (const signal of SIGNALS) process.removeListener(signal, begin);',
    instead: '',
    tests: 'test/slow/shut-down.test.ts',
  },
  {
    name: 'a database without a channel is polled',
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
