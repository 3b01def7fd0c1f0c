/** Lists the routes of a Nest app for the lock, from Nest's metadata. Copy and adapt this file. */
import 'reflect-metadata';
import { type INestApplicationContext, RequestMethod, type Type } from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';

/**
 * For `routesOf(tableOf(app))`: each route of all controllers with the guards of its class and its
 * own. `prefix` is that of `setGlobalPrefix`. Middleware and global guards are not in it.
 */
export function tableOf(app: INestApplicationContext, prefix = ''): Record<string, unknown[]> {
  const table: Record<string, unknown[]> = {};
  const modules = [...app.get(ModulesContainer).values()];
  const wrappers = modules.flatMap(({ controllers }) => [...controllers.values()]);
  for (const [route, guards] of wrappers.flatMap(({ metatype }) => rowsOf(metatype as Type))) {
    const name = route.replace('/', `/${prefix}/`).replaceAll(/\/+(?=\/|$)/g, '');
    if (name in table) throw new TypeError(`${name} exists twice. Write a table of your own`);
    table[name] = guards;
  }
  return table;
}

function rowsOf({ prototype }: Type): (readonly [string, unknown[]])[] {
  return new MetadataScanner().getAllMethodNames(prototype).flatMap((name) => {
    const of = [prototype.constructor, prototype[name]] as const; // The class and the handler.
    const [base, own] = of.map((each) => read('path', each)) as [unknown[], unknown[]];
    const [method] = read('method', of[1]) as RequestMethod[];
    if (method === undefined) return [];
    const isVersioned = of.some((each) => read('__version__', each).length > 0);
    if (isVersioned) throw new TypeError(`${name} has a version. Write a table of your own`);
    const guards = of.flatMap((each) => read('__guards__', each));
    const paths = base.flatMap((first) => own.map((last) => `/${first}/${last}`));
    return paths.map((path) => [`${RequestMethod[method]} ${path}`, guards] as const);
  });
}

/** Nest keeps a single value or a list. */
function read(key: string, from: object): unknown[] {
  const value: unknown = Reflect.getMetadata(key, from) ?? [];
  return Array.isArray(value) ? value : [value];
}
