/**
 * From the start of a process to its first verified request: `node bench/boot.ts`. Each start is a
 * process of its own, in rounds whose order is drawn anew; the files are in the disk's cache.
 */
import { digestKey } from 'keyscope';
import { drawer, quantile, shuffled } from './harness.ts';
import { type Boot, boot } from './loading.ts';
import { publish, quick, type Row, unbounded } from './report.ts';

const ROUNDS = quick ? 5 : 31;
const NOTHING = 'an empty module';
const HASH = "import 'node:crypto'";
const FIRST = 'the first request verified, keys in memory';
const PEPPERED = 'the same with a pepper';

/** Issues a key, and verifies a request that carries it. */
function firstRequest(peppers: string): string {
  return `
    import { createKeyring, defineScopes, requireScopes } from 'keyscope';
    import { memoryStore } from 'keyscope/stores/memory';
    const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
    const store = memoryStore();
    const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: ${peppers} });
    const entityId = '0a0a0a0a-0000-4000-8000-00000000000a';
    const input = { name: 'first', scopes: ['threats:read'], expiresAt: 'never' };
    const { key } = await keyring.issue(input, { entityId, scopes: 'all' });
    const principal = await keyring.authenticate({ authorization: 'Bearer ' + key });
    requireScopes(principal, 'threats:read');`;
}

const MODULES: Readonly<Record<string, string>> = {
  [PEPPERED]: firstRequest(`[{ id: 'a', secret: '${digestKey('of the bench alone')}' }]`),
  [FIRST]: firstRequest(`'none'`),
  "import 'keyscope'": `await import('keyscope');`,
  [HASH]: `await import('node:crypto');`,
  [NOTHING]: '',
};

const boots = new Map<string, Boot[]>(Object.keys(MODULES).map((name) => [name, []]));
const draw = drawer(6);
for (let round = -1; round < ROUNDS; round++) {
  for (const [name, code] of shuffled(Object.entries(MODULES), draw)) {
    const started = boot(code);
    if (round >= 0) boots.get(name)?.push(started);
  }
}

function msOf(name: string, of: keyof Boot): number {
  return quantile(
    (boots.get(name) ?? []).map((each) => each[of]),
    0.5,
  );
}

const rows = Object.keys(MODULES).map((name): Row => {
  const sinceStart = msOf(name, 'sinceStart');
  const over = sinceStart - msOf(NOTHING, 'sinceStart');
  const cells = [sinceStart, name === NOTHING ? '' : over];
  if (name !== PEPPERED) return { name, cells };
  const inSummary = 'First verified request after the start of Node, with a pepper';
  return { name, cells, verdict: unbounded(over, 'ms'), inSummary };
});
publish({
  name: 'boot',
  title: 'The first request',
  about:
    'Milliseconds from the start of a Node process, and how much more that is than with an empty ' +
    'module; medians.',
  tables: [{ head: ['', 'since the start', 'of it ours'], rows }],
});
