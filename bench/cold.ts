/**
 * Cold start: `node bench/cold.ts`. Each import in a process of its own, in rounds whose order is
 * drawn anew.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { measureLanes } from './harness.ts';
import { bundle, importTime } from './loading.ts';
import { aim, publish, quick } from './report.ts';
import { BUNDLES, CREATE } from './size.ts';

const ROUNDS = quick ? 5 : 25;
const EMPTY = 'an empty module';
const OURS = "import 'keyscope'";
const PEERS = './bench/peers/';

const folder = mkdtempSync(join(tmpdir(), 'keyscope-bench-'));
try {
  const file = (name: string, code: string) => {
    const path = join(folder, name);
    writeFileSync(path, code);
    return pathToFileURL(path).href;
  };
  const empty = file('empty.mjs', 'export {};');
  const worker = file('worker.mjs', (await bundle(BUNDLES[CREATE] ?? '')).code);
  const imports: Readonly<Record<string, () => number>> = {
    [EMPTY]: () => importTime(empty),
    [OURS]: () => importTime('keyscope'),
    'the bundle for a Worker, on Node': () => importTime(worker),
    'prefixed-api-key': () => importTime('prefixed-api-key', PEERS),
    jose: () => importTime('jose'),
    'better-auth': () => importTime('better-auth', PEERS),
  };
  const lanes = Object.entries(imports).map(([name, time]) => ({
    name,
    over: EMPTY,
    turn: async () => 1e6 * time(),
  }));
  const figures = await measureLanes(lanes, ROUNDS);
  const ms = (name: string) =>
    (figures.find((figure) => figure.name === name)?.ns ?? Number.NaN) / 1e6;
  publish({
    name: 'cold',
    title: 'Cold start',
    about:
      'Milliseconds of one import in a process that has loaded nothing else, files in the disk ' +
      'cache; less is better.',
    unit: 'ms',
    rows: figures.map(({ name, ns, spread }) => ({
      name,
      value: ns / 1e6,
      spread,
      ours: /keyscope|bundle/.test(name),
    })),
    aims: [aim(`${OURS}, over an empty module`, ms(OURS) - ms(EMPTY), '≤', 6, 'ms')],
  });
} finally {
  rmSync(folder, { recursive: true });
}
