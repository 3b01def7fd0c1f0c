/**
 * Runs the published contract on each adapter with its real framework. Where docs/frameworks.md
 * says that a test cannot pass, it has to fail: otherwise the page is out of date.
 */
import { adapterContract } from 'keyscope/testing';
import { describe, test } from 'vitest';
import { hold, runContract } from './contract.ts';
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
