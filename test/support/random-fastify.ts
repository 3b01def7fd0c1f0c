/** Random Fastify apps: nested plugins with guards in every phase. */
import { type FastifyInstance, type FastifyReply, fastify, type RouteOptions } from 'fastify';
import { recordRoutes } from 'keyscope/lock';
import { createGuard } from '../../examples/fastify/adapter.ts';
import { guarding } from './guarded.ts';
import type { Declaration, Dice, RandomApp } from './random-apps.ts';

const guard = createGuard(guarding);

const PATHS = [
  '/',
  '/a',
  '/A',
  '/a/',
  '/a/b',
  '/:p',
  '/a/:p',
  '/:p/b',
  '/*',
  '/a/*',
  '/:p(^[ab]$)',
];
const PREFIXES = ['', '/', '/a', '/a/', '/b', '/:q', '/A'];
const HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const;
const METHODS = ['GET', 'GET', 'POST', 'PUT', 'HEAD'];

type Hook = (request: never, reply: never) => Promise<unknown>;

const pass: Hook = async () => {};

class Builder {
  readonly handlers = new Map<number, Declaration>();
  readonly #declared = new Map<unknown, { methods: Set<string>; urls: string[] }>();
  /** The used methods and paths, because Fastify rejects duplicate routes. */
  readonly #taken = new Set<string>();
  readonly #dice: Dice;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** Records Fastify's description of each route, by its handler. */
  note({ method, handler, url }: Pick<RouteOptions, 'handler' | 'method' | 'url'>): void {
    const declared = this.#declared.get(handler);
    // Skips the HEAD that Fastify adds.
    if (method !== 'HEAD' || declared?.methods.has('HEAD')) declared?.urls.push(url);
  }

  fill(app: FastifyInstance, prefix: string, depth: number): void {
    for (const add of this.#dice.some(1, 5, () => this.#dice.below(9))) {
      if (add < 5) this.#route(app, prefix);
      else if (add === 5 && depth < 3) app.addHook(this.#dice.pick(HOOKS), this.#guard() as never);
      else if (add === 6) app.addHook(this.#dice.pick(HOOKS), pass as never);
      else if (depth > 0) {
        const below = this.#dice.pick(PREFIXES);
        app.register(async (plugin) => this.fill(plugin, prefix + below, depth - 1), {
          prefix: below,
        });
      }
    }
  }

  #guard(): Hook {
    return guard(this.#dice.pick(['one', 'two', 'three'] as const)) as Hook;
  }

  #route(app: FastifyInstance, prefix: string): void {
    const dice = this.#dice;
    const url = dice.pick(PATHS);
    const isAll = dice.chance(0.15);
    const drawn = dice.chance(0.2) ? ['GET', 'POST'] : [dice.pick(METHODS)];
    const method = isAll ? [...app.supportedMethods] : drawn;
    const host = dice.chance(0.2) ? 'localhost' : undefined;
    const place = `${prefix}${url}`.toLowerCase().replaceAll(/\/+/g, '/').replace(/\/$/, '');
    const keys = method.map((each) => `${each} ${place.replaceAll(/:\w/g, ':')} ${host ?? ''}`);
    if (method.includes('GET')) keys.push(...keys.map((key) => key.replace(/^GET/, 'HEAD')));
    if (keys.some((key) => this.#taken.has(key))) return;
    for (const key of keys) this.#taken.add(key);
    const declared = { methods: new Set(isAll ? ['ALL'] : method), urls: [] };
    const number = this.handlers.size;
    const paths = () => declared.urls;
    this.handlers.set(number, { methods: declared.methods, paths, hasOwnHead: !isAll });
    const handler = (_request: unknown, reply: FastifyReply) => {
      reply.header('x-handler', `${number}`).send();
    };
    this.#declared.set(handler, declared);
    const constraints = host === undefined ? {} : { constraints: { host } };
    const slash = dice.pick(['both', 'slash', 'no-slash'] as const);
    const hooks = Object.fromEntries(
      HOOKS.map((name) => [name, dice.chance(0.25) ? this.#hooks() : []]),
    );
    app.route({ method, url, handler, prefixTrailingSlash: slash, ...constraints, ...hooks });
  }

  #hooks(): Hook | Hook[] {
    const dice = this.#dice;
    const list = dice.some(1, 2, (): Hook => {
      if (dice.chance(0.6)) return this.#guard();
      const inner = this.#guard();
      return dice.chance(0.5) ? pass : (request, reply) => inner(request, reply);
    });
    return dice.chance(0.5) ? [...list] : (list[0] ?? pass);
  }
}

export async function randomFastify(dice: Dice): Promise<RandomApp> {
  const caseSensitive = dice.chance(0.7);
  const ignoreTrailingSlash = dice.chance(0.3);
  const app = fastify({
    routerOptions: { caseSensitive, ignoreTrailingSlash },
    exposeHeadRoutes: dice.chance(0.8),
  });
  const builder = new Builder(dice);
  const isHidden = dice.chance(0.04);
  if (!isHidden) recordRoutes(app);
  app.addHook('onRoute', (options) => {
    // Other hooks may add guards to a route.
    if (dice.chance(0.05)) Object.assign(options, { preHandler: [guard('one')] });
    builder.note(options);
  });
  builder.fill(app, '', 3);
  await app.ready();
  async function send(method: string, url: string) {
    const answer = await app.inject({ method: method as 'GET', url });
    const { 'x-handler': number } = answer.headers;
    return { handler: number === undefined ? null : Number(number), status: answer.statusCode };
  }
  return { app, handlers: builder.handlers, isHidden, send };
}
