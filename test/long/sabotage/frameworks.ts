/** The safeguards of adapters whose frameworks are installed only for their tests. */
import type { Safeguard } from './safeguard.ts';

const CONTRACT = 'test/frameworks/contract.test.ts';
const MORE = 'test/frameworks/adapters.test.ts';

export const FRAMEWORKS: readonly Safeguard[] = [
  {
    name: 'frameworks: sends no-store on success, fetch',
    file: 'examples/more/fetch/adapter.ts',
    text: "response.headers.set('Cache-Control', 'no-store');",
    instead: '',
    tests: CONTRACT,
  },
  {
    name: 'frameworks: sends no-store on success, Koa',
    file: 'examples/more/koa/adapter.ts',
    text: "ctx.set('Cache-Control', 'no-store');",
    instead: '',
    tests: CONTRACT,
  },
  {
    name: 'frameworks: sends no-store on failure, Koa',
    file: 'examples/more/koa/adapter.ts',
    text: 'throw notStored(error);',
    instead: 'throw error;',
    tests: MORE,
  },
  {
    name: 'frameworks: reads both lines, Koa',
    file: 'examples/more/koa/adapter.ts',
    text: 'guard.admit(ctx, ctx.req)',
    instead: 'guard.admit(ctx, ctx.headers)',
    tests: CONTRACT,
  },
  {
    name: 'frameworks: sends no-store on success, Elysia',
    file: 'examples/more/elysia/adapter.ts',
    text: "set.headers['cache-control'] = 'no-store';",
    instead: '',
    tests: CONTRACT,
  },
  {
    name: 'frameworks: bugs are not denials',
    file: 'src/http/guard.ts',
    text: 'if (!isOutage && !isAccessError(error)) throw error;',
    instead: '',
    tests: 'test/examples/adapters.test.ts',
  },
  {
    name: 'frameworks: sends no-store on success, Nest',
    file: 'examples/more/nest/adapter.ts',
    text: "res.setHeader('Cache-Control', 'no-store');",
    instead: '',
    tests: CONTRACT,
  },
  {
    name: 'frameworks: a denied handler does not run, Nest',
    file: 'examples/more/nest/adapter.ts',
    text: 'return false;',
    instead: 'return true;',
    tests: CONTRACT,
  },
  {
    name: 'frameworks: reads both lines, Nest',
    file: 'examples/more/nest/adapter.ts',
    text: 'guard.admit(req, req)',
    instead: 'guard.admit(req, req.headers)',
    tests: CONTRACT,
  },
  {
    name: 'frameworks: only over HTTP, Nest',
    file: 'examples/more/nest/adapter.ts',
    text: "if (context.getType() !== 'http')",
    instead: 'if (false)',
    tests: MORE,
  },
  {
    name: 'frameworks: sends no-store on success, tRPC',
    file: 'examples/more/trpc/adapter.ts',
    text: "{ ...rest, 'Cache-Control': 'no-store' }",
    instead: 'rest',
    tests: CONTRACT,
  },
  {
    name: 'frameworks: sends the challenge, tRPC',
    file: 'examples/more/trpc/adapter.ts',
    text: 'toResponse(denial, challenge).headers',
    instead: '{}',
    tests: CONTRACT,
  },
  {
    name: 'frameworks: checks the entity, tRPC',
    file: 'examples/more/trpc/adapter.ts',
    text: 'guard.admit(input, ctx.req)',
    instead: 'guard.admit(undefined, ctx.req)',
    tests: CONTRACT,
  },
  {
    name: 'orms: sets the filter of drizzle-kit',
    file: 'examples/more/drizzle/drizzle.config.ts',
    text: "tablesFilter: ['!keyscope_*'],",
    instead: '',
    tests: 'test/orms/drizzle.test.ts',
  },
];
