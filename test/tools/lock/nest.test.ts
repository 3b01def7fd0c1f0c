/** Controllers with the metadata that Nest 12 writes; test/frameworks has the real one. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { linesOf } from '../../support/route-lines.ts';

const MARK = Symbol.for('keyscope.operation');

const guard = (operation: string) => ({ canActivate() {}, [MARK]: operation });

const metadata = new Map<object, Readonly<Record<string, unknown>>>();
const reflect = Reflect as { getMetadata?: unknown };
const { getMetadata: before } = reflect;
beforeEach(() => {
  reflect.getMetadata = (key: string, target: object) => metadata.get(target)?.[key];
});
afterEach(() => {
  metadata.clear();
  reflect.getMetadata = before;
  if (before === undefined) delete reflect.getMetadata;
});

class Base {
  inherited() {}
}

class Threats extends Base {
  static helper() {}
  list() {}
  read() {}
  helper() {}
  get value() {
    return 1;
  }
}

class Module {}

interface Given {
  readonly prefix?: string;
  readonly exclude?: readonly unknown[];
  readonly versioning?: object;
  readonly guards?: readonly unknown[];
}

function appOf({ prefix = '', exclude, versioning, guards = [] }: Given = {}): object {
  const controllers = new Map([['Threats', { metatype: Threats }]]);
  const modules = new Map([['Module', { metatype: Module, controllers }]]);
  return {
    getHttpAdapter() {},
    useGlobalGuards() {},
    setGlobalPrefix() {},
    select() {},
    container: { getModules: () => modules },
    config: {
      getGlobalPrefix: () => prefix,
      getGlobalPrefixOptions: () => (exclude === undefined ? {} : { exclude }),
      getVersioning: () => versioning,
      getGlobalGuards: () => guards,
    },
  };
}

function decorate(): void {
  const { list, read, inherited } = Threats.prototype;
  metadata.set(Threats, { path: 'threats/' });
  metadata.set(list, { path: '/', method: 0, __guards__: [guard('one'), class Other {}] });
  metadata.set(read, { path: [':id', '/by/:name'], method: 1 });
  metadata.set(inherited, { path: 'all', method: 99 });
}

test('lists the methods of controllers with their guards', () => {
  decorate();
  expect(linesOf(appOf())).toEqual([
    'GET /threats: one',
    'POST /threats/:id:',
    'METHOD-99 /threats/all:',
    'POST /threats/by/:name:',
  ]);
  metadata.set(Threats, { path: ['/', 'a'], __guards__: [guard('two')] });
  metadata.set(Module, { __module_path__: '/in' });
  expect(linesOf(appOf({ prefix: 'v1', guards: [guard('three')] }))).toEqual([
    'GET /v1/in: three two one',
    'POST /v1/in/:id: three two',
    'GET /v1/in/a: three two one',
    'POST /v1/in/a/:id: three two',
    'METHOD-99 /v1/in/a/all: three two',
    'POST /v1/in/a/by/:name: three two',
    'METHOD-99 /v1/in/all: three two',
    'POST /v1/in/by/:name: three two',
  ]);
  metadata.set(Module, {});
  metadata.set(Threats, { path: '' });
  expect(linesOf(appOf())).toContain('GET /: one');
});

test('refuses what it would list wrongly', () => {
  const refused = (app: object) => expect(() => linesOf(app));
  refused(appOf({ versioning: {} })).toThrow(
    'it does not read versions of Nest routes; pass a table',
  );
  refused(appOf({ exclude: [{}] })).toThrow('it does not read exclude of a global prefix');
  refused({ ...appOf(), container: {} }).toThrow('it does not know this version of Nest');
  delete reflect.getMetadata;
  refused(appOf()).toThrow("import 'reflect-metadata' before");
});
