/**
 * Each adapter on its real framework against the published contract. The exceptions in
 * docs/frameworks.md must fail; if one passes, the page is out of date.
 */
import { adapterContract } from 'keyscope/testing';
import { afterAll, describe, test } from 'vitest';
import { hold, runContract, TESTS } from './contract.ts';
import { tableOf } from './exceptions.ts';
import { binary, DENO_RUN, describeInstalled, FRAMEWORKS } from './installed.ts';

describeInstalled.each(Object.entries(FRAMEWORKS))('the contract: %s', (framework, load) => {
  adapterContract(
    (name, run) => test(name, () => hold(framework, name, run)),
    async (setup) => (await load()).serve(setup, { errors: [] }),
  );
});

describeInstalled('the contract, in a separate process:', () => {
  describe('Elysia on Bun', () => runContract('Elysia on Bun', [binary('bun')], 'elysia'));
  describe('Bun', () => runContract('Bun', [binary('bun')], 'bun'));
  describe('Deno', () => runContract('Deno', [binary('deno'), ...DENO_RUN], 'deno'));
});

afterAll(() => console.log(tableOf(TESTS)));
