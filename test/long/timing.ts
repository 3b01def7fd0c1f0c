/**
 * `npm run lab -- timing`: checks that the time of a refusal does not reveal how near a guessed key
 * is to a live one. It compares two classes of unknown keys, both with right checksums: random
 * ones, and ones that share the first 25 characters of entropy with a live key. Welch's t over 10^6
 * samples of each must stay within 4.5, in each of three runs. The control is the same verification
 * with a comparison that stops at the first difference. It must show a t beyond 10: otherwise the
 * measurement could not have seen anything. `-- --quick` takes a tenth of the samples, too few on a
 * busy machine.
 *
 * The measurement is fair:
 * - Every key of either class is used once, and two consecutive keys have nothing in common, so
 *   that neither class is more likely to be cached. Hence some 16,000 live keys, with 61 neighbours
 *   each, which come 16,000 samples apart. In sequence they were 1.5 ns faster, because the
 *   checksum then reads the same entries of its table again.
 * - A key is made into a string right before its sample, like a key that arrives over the network.
 *   The timer does not include that.
 * - The classes take turns in pairs, and a coin decides which comes first, so that disturbances
 *   such as other processes and the garbage collector affect both. All keys are in one block of
 *   memory in the order of their turns. With a block for each class, one was up to 4 ns faster, by
 *   chance.
 * - The slowest 5 % of all samples, which are other processes' turns and collections, are left out
 *   of both classes at one threshold.
 */
import { createKeyring, defineScopes, generateKey, isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SAMPLES = process.argv.includes('--quick') ? 100_000 : 1_000_000;
const RUNS = 3;
/** Within the first bound the classes do not differ; beyond the second one they do. */
const WITHIN = 4.5;
const BEYOND = 10;
const WARM_UP = 20_000;
const PREFIX = 'acme';
const NEIGHBOURS = ALPHABET.length - 1;
const LENGTH = PREFIX.length + 33;

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const peppers = [{ id: 'p1', secret: 'a pepper of this test alone, with 32 bytes' }];
const authority = { entityId: '0a0a0a0a-0000-4000-8000-00000000000a', scopes: 'all' } as const;

type Verify = (key: string, live: string) => Promise<unknown>;

function openRing() {
  return createKeyring({ prefix: PREFIX, catalog, store: memoryStore(), peppers });
}
type Ring = ReturnType<typeof openRing>;

/**
 * Many keys in one block of memory, in the order of their turns. `at` makes a string of one.
 */
class KeyBlock {
  readonly #bytes: Buffer;

  constructor(count: number) {
    this.#bytes = Buffer.alloc(count * LENGTH);
  }

  put(turn: number, key: string): void {
    this.#bytes.write(key, turn * LENGTH, 'latin1');
  }

  at(turn: number): string {
    return this.#bytes.toString('latin1', turn * LENGTH, (turn + 1) * LENGTH);
  }
}

/** Makes a key from 26 characters of entropy, with its checksum. */
function around(entropy: string): string {
  const random = (length: number) =>
    Uint8Array.from({ length }, (_, index) => ALPHABET.indexOf(entropy.charAt(index)));
  return generateKey({ prefix: PREFIX, random });
}

/** Returns the keys nearest to a live one: only the last character of entropy differs. */
function neighboursOf(key: string): readonly string[] {
  const entropy = key.slice(PREFIX.length + 1, -6);
  const others = [...ALPHABET].filter((digit) => digit !== entropy.at(-1));
  return others.map((digit) => around(entropy.slice(0, -1) + digit));
}

/** A keyring, and for each turn the key to try and the live key to compare it with. */
interface Prepared {
  readonly keyring: Ring;
  readonly keys: KeyBlock;
  readonly live: KeyBlock;
  /** The class of the key of each turn: 1 if it is near a live one. */
  readonly isNear: Uint8Array;
}

async function prepare(): Promise<Prepared> {
  const keyring = openRing();
  const keys = new KeyBlock(2 * SAMPLES);
  const live = new KeyBlock(2 * SAMPLES);
  const isNear = new Uint8Array(2 * SAMPLES);
  const issued = Math.ceil(SAMPLES / NEIGHBOURS);
  for (let first = 0; first < issued; first++) {
    const input = { name: 'n', scopes: ['threats:read'], expiresAt: 'never' } as const;
    const { key } = await keyring.issue(input, authority);
    for (const [index, neighbour] of neighboursOf(key).entries()) {
      const pair = first + index * issued;
      if (pair >= SAMPLES) break;
      const near = 2 * pair + (Math.random() < 0.5 ? 0 : 1);
      const other = near ^ 1;
      isNear[near] = 1;
      keys.put(near, neighbour);
      keys.put(other, generateKey({ prefix: PREFIX }));
      live.put(near, key);
      live.put(other, key);
    }
  }
  return { keyring, keys, live, isNear };
}

/** Compares insecurely: stops at the first character that differs. */
function matchesEarly(key: string, live: string): boolean {
  for (let i = 0; i < LENGTH; i++) {
    if (key.charCodeAt(i) !== live.charCodeAt(i)) return false;
  }
  return true;
}

/** Returns the milliseconds of each verification, in the order of turns. */
async function sample(verify: Verify, { keys, live }: Prepared): Promise<Float64Array> {
  const times = new Float64Array(2 * SAMPLES);
  // Some turns run twice, because the engine compiles functions during the first.
  for (let turn = -WARM_UP; turn < times.length; turn++) {
    const key = keys.at(Math.abs(turn));
    const guessed = live.at(Math.abs(turn));
    const from = performance.now();
    await verify(key, guessed).then(accepted, refused);
    times[Math.max(0, turn)] = performance.now() - from;
  }
  return times;
}

/** Checks that the key was refused as unknown, not earlier by its shape or checksum. */
function refused(error: unknown): void {
  if (!isAccessError(error) || error.reason !== 'unknown_key') throw error;
}

function accepted(): never {
  throw new Error('a key that nobody issued was let in');
}

/** Returns the mean and its variance. */
function summary(times: Float64Array) {
  let sum = 0;
  for (const time of times) sum += time;
  const mean = sum / times.length;
  let squares = 0;
  for (const time of times) squares += (time - mean) ** 2;
  const variance = squares / (times.length - 1);
  return { mean, variance: variance / times.length };
}

/** Returns Welch's t of the two classes without the slowest 5 % of all samples, and a summary. */
function compare(times: Float64Array, isNear: Uint8Array) {
  const longest = times.toSorted()[Math.floor(0.95 * times.length) - 1] as number;
  const summaryOf = (kind: 0 | 1) =>
    summary(times.filter((time, turn) => isNear[turn] === kind && time <= longest));
  const random = summaryOf(0);
  const near = summaryOf(1);
  const difference = near.mean - random.mean;
  const error = Math.sqrt(near.variance + random.variance);
  const t = difference / error;
  const ns = (ms: number) => `${(1e6 * ms).toFixed(1)} ns`;
  const means = `near ${ns(near.mean)}, random ${ns(random.mean)}`;
  const line = `t ${t.toFixed(2)}: ${means}, difference ${ns(difference)} ± ${ns(error)}`;
  return { t, line };
}

/** Measures both, prints the results, and returns what was wrong. */
async function measure(run: number): Promise<string[]> {
  const wrong: string[] = [];
  const prepared = await prepare();
  const { keyring, isNear } = prepared;
  const ours: Verify = (key) => keyring.verify(key);
  const early: Verify = (key, live) =>
    matchesEarly(key, live) ? Promise.resolve() : keyring.verify(key);
  const measured = compare(await sample(ours, prepared), isNear);
  const control = compare(await sample(early, prepared), isNear);
  console.log(`run ${run}: verify   ${measured.line}`);
  console.log(`run ${run}: control  ${control.line}`);
  const isAlike = Math.abs(measured.t) < WITHIN;
  const isSeen = Math.abs(control.t) > BEYOND;
  if (!isAlike) wrong.push(`run ${run}: the classes differ`);
  if (!isSeen) wrong.push(`run ${run}: the control shows no difference: the run proves nothing`);
  return wrong;
}

const wrong: string[] = [];
console.log(`${SAMPLES.toLocaleString('en')} samples of each class`);
for (let run = 1; run <= RUNS; run++) wrong.push(...(await measure(run)));
const all = `|t| < ${WITHIN} in ${RUNS} of ${RUNS} runs, control > ${BEYOND}`;
console.log(wrong.length === 0 ? all : wrong.join('\n'));
process.exitCode = wrong.length === 0 ? 0 : 1;
