/** Routes of Nest: the controllers of its modules, by what their decorators wrote. */
import { assert, hasMethods } from '../../core/input.js';
import { operationsOf } from './guards.js';
import { withoutEnd } from './paths.js';
import type { GuardedRoute } from './route.js';

type Class = (abstract new (...args: never[]) => unknown) & { readonly prototype: object };

interface Module {
  readonly metatype: Class;
  readonly controllers: ReadonlyMap<unknown, { readonly metatype: Class }>;
}

interface App {
  readonly container: {
    getModules(): ReadonlyMap<unknown, Module> & { readonly applicationId?: string };
  };
  readonly config: {
    getGlobalPrefix(): string;
    getGlobalPrefixOptions(): { readonly exclude?: readonly unknown[] };
    getVersioning(): unknown;
    getGlobalGuards(): readonly unknown[];
  };
}

/** What `reflect-metadata` adds to `Reflect`. */
type GetMetadata = (key: string, target: object) => unknown;

/** `RequestMethod` of Nest, whose numbers are what decorators write. */
const METHODS: readonly string[] = [
  'GET',
  'POST',
  'PUT',
  'DELETE',
  'PATCH',
  'ALL',
  'OPTIONS',
  'HEAD',
  'SEARCH',
  'PROPFIND',
  'PROPPATCH',
  'MKCOL',
  'COPY',
  'MOVE',
  'LOCK',
  'UNLOCK',
  'QUERY',
];

const TABLE = 'pass a table of the routes';

export function isNest(app: unknown): boolean {
  return hasMethods(app, 'getHttpAdapter', 'useGlobalGuards', 'setGlobalPrefix', 'select');
}

/** @throws TypeError if paths are versioned or excluded from the prefix, or metadata is missing. */
export function readNest(app: unknown): readonly GuardedRoute[] {
  const { container, config } = app as App;
  const isKnown = hasMethods(container, 'getModules') && hasMethods(config, 'getGlobalGuards');
  assert(isKnown, `routesOf: it does not know this version of Nest; ${TABLE}`);
  assert(!config.getVersioning(), `routesOf: it does not read versions of Nest routes; ${TABLE}`);
  const { exclude = [] } = config.getGlobalPrefixOptions();
  assert(exclude.length === 0, `routesOf: it does not read exclude of a global prefix; ${TABLE}`);
  const { getMetadata } = Reflect as { readonly getMetadata?: GetMetadata };
  assert(typeof getMetadata === 'function', "routesOf: import 'reflect-metadata' before");

  const prefix = config.getGlobalPrefix();
  const before = operationsOf(config.getGlobalGuards());
  const modules = container.getModules();
  const moduleKey = `__module_path__${modules.applicationId ?? ''}`;
  return [...modules.values()].flatMap(({ metatype, controllers }) => {
    const mount = getMetadata(moduleKey, metatype) ?? getMetadata('__module_path__', metatype);
    return [...controllers.values()].flatMap((controller) =>
      readController(controller.metatype, [prefix, mount], before, getMetadata),
    );
  });
}

function readController(
  controller: Class,
  mounts: readonly unknown[],
  before: readonly string[],
  getMetadata: GetMetadata,
): readonly GuardedRoute[] {
  const guardsOf = (target: object) => operationsOf(listed(getMetadata('__guards__', target)));
  const all = [...before, ...guardsOf(controller)];
  return methodsOf(controller.prototype).flatMap((handler) => {
    const path = getMetadata('path', handler);
    if (path === undefined) return [];
    const number = Number(getMetadata('method', handler));
    const method = METHODS[number] ?? `METHOD-${number}`;
    const paths = pathsOf([...mounts, getMetadata('path', controller), path]);
    const operations = [...all, ...guardsOf(handler)];
    return paths.map((each) => ({ method, path: each, operations }));
  });
}

/** The methods of a class and of those that it extends. */
function methodsOf(prototype: object): readonly object[] {
  const methods = new Map<string, object>();
  for (let each = prototype; each !== Object.prototype; ) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(each))) {
      if (typeof value === 'function' && !methods.has(name)) methods.set(name, value as object);
    }
    each = Object.getPrototypeOf(each) as object;
  }
  methods.delete('constructor');
  return [...methods.values()];
}

/** Every path that these parts make, each of which may be a list. */
function pathsOf(parts: readonly unknown[]): readonly string[] {
  let paths: readonly string[] = [''];
  for (const part of parts) {
    const choices = part === undefined ? [''] : listed(part).map(String);
    paths = paths.flatMap((path) => choices.map((choice) => joined(path, choice)));
  }
  return paths.map((path) => path || '/');
}

function joined(path: string, part: string): string {
  const bare = withoutEnd(part.replace(/^\/+/, ''));
  return bare === '' ? path : `${path}/${bare}`;
}

function listed(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
