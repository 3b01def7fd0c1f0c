/**
 * Nobody outruns the end of a lineage: on each kind of store, against a thief who adds to it over
 * HTTP. 800 keys on 8 and 32 connections; `npm run lab -- races` takes 20,000 keys. Prints its
 * times.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folder } from '../support/folder.ts';
import { runs } from '../support/runs.ts';
import { describeOn } from '../support/servers.ts';
import { makeScratch, type StoreKind } from '../support/store-address.ts';
import { type Child, type Handed, startChild } from '../support/store-process.ts';
import type { Loot } from '../support/thief.ts';

/** 20,000 with 1,000 runs. */
const KEYS = runs(200) ** 2 / 50;
const timeout = 3_600_000;
/** How long the thief goes on after the call has returned. */
const AFTERWARDS_MS = 300;

const { file, remove } = folder();
afterAll(remove);
// Each start would strip the types of the whole source again.
Object.assign(process.env, { NODE_COMPILE_CACHE: file('cache') });

const SUITES: Readonly<Record<'memory' | StoreKind, typeof describe | typeof describe.skip>> = {
  memory: describe,
  sqlite: describe,
  postgres: await describeOn('postgres'),
  mysql: await describeOn('mysql'),
  redis: await describeOn('redis'),
};

interface Ended {
  readonly ended: number;
  readonly ms: number;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

for (const kind of Object.keys(SUITES) as ('memory' | StoreKind)[]) {
  SUITES[kind](`a lineage on ${kind}`, () => {
    let removeStore = async (): Promise<unknown> => undefined;
    let service: Child;
    /** Ends the lineage from another process, except where the keys are in one process only. */
    let operator: Child;
    let thief: Child;
    let url: string;

    beforeAll(async () => {
      const scratch =
        kind === 'memory'
          ? { address: 'memory:', remove: async () => undefined }
          : await makeScratch(kind);
      removeStore = scratch.remove;
      service = startChild(scratch.address);
      await service.ready;
      operator = kind === 'memory' ? service : startChild(scratch.address);
      thief = startChild();
      await Promise.all([operator.ready, thief.ready]);
      url = String(await service.ask('serve'));
    }, timeout);

    afterAll(async () => {
      await Promise.all([...new Set([service, operator, thief])].map((child) => child.stop()));
      await removeStore();
    });

    async function fill() {
      const entityId = randomUUID();
      const stolen = (await service.ask('issue', entityId)) as Handed;
      await service.ask('fill', entityId, stolen.keyId, KEYS);
      return { entityId, stolen };
    }

    async function endOf({ entityId, stolen }: Awaited<ReturnType<typeof fill>>) {
      return (await operator.ask('revokeLineage', entityId, stolen.keyId)) as Ended;
    }

    test('ends, and nothing that a thief made of it lives', { timeout }, async () => {
      const alone = await endOf(await fill());
      expect(alone.ended).toBe(KEYS + 1);
      for (const connections of [8, 32]) {
        const lineage = await fill();
        await thief.ask('steal', url, lineage.stolen, connections);
        const { ended, ms } = await endOf(lineage);
        await sleep(AFTERWARDS_MS);
        const { keys, refused, failed } = (await thief.ask('loot')) as Loot;
        expect(await service.ask('requireDead', keys)).toBe('dead');
        expect(ended).toBeGreaterThanOrEqual(KEYS + 3);
        expect(await endOf(lineage)).toMatchObject({ ended: 0 });
        console.log(
          `${kind}, ${KEYS} keys, a thief on ${connections} connections: ${ended} keys ended in ` +
            `${(ms / 1000).toFixed(1)} s, without him in ${(alone.ms / 1000).toFixed(1)} s; he ` +
            `made ${keys.length - 1}, ${refused} calls were refused, ${failed} failed, 0 live`,
        );
      }
    });
  });
}
