/** A store of a test's own at an address, on the servers that all tests share. */
import { emptyDatabase } from './mysql.ts';
import { emptySchema } from './postgres.ts';
import { deleteUnder } from './redis.ts';
import { SERVERS } from './servers.ts';
import { folder } from './sqlite.ts';

/** Where a store is that nobody else uses, and its end. */
export type Scratch = { readonly address: string; remove(): Promise<unknown> };

const SCRATCH = {
  async sqlite(): Promise<Scratch> {
    const { file, remove } = folder();
    return { address: `sqlite:${file('store.db')}`, remove: async () => remove() };
  },
  async postgres(): Promise<Scratch> {
    const { name, drop } = await emptySchema();
    const address = new URL(SERVERS.postgres);
    address.search = `?options=${encodeURIComponent(`-c search_path=${name}`)}`;
    return { address: address.href, remove: drop };
  },

  async mysql(): Promise<Scratch> {
    const { name, drop } = await emptyDatabase();
    const address = new URL(SERVERS.mysql);
    address.pathname = name;
    return { address: address.href, remove: drop };
  },

  async redis(): Promise<Scratch> {
    const prefix = `keyscope-test-${crypto.randomUUID()}:`;
    const address = new URL(SERVERS.redis);
    address.search = `?prefix=${prefix}`;
    return { address: address.href, remove: () => deleteUnder(SERVERS.redis, prefix) };
  },
};

export type StoreKind = keyof typeof SCRATCH;

export const makeScratch = (kind: StoreKind): Promise<Scratch> => SCRATCH[kind]();
