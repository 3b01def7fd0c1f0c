/**
 * Keeps a ledger of keys while processes work on them: every version of each record and when it was
 * superseded, who learned of which version, and who holds which text. From that follow the possible
 * answers of a look-up, and the possible contents of the database at any time.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KeyRecord, KeyStore, Mark } from 'keyscope';
import { digestKey } from 'keyscope';

/** The laws. The first three are checked after every step, the others at every answer. */
export const LAWS: readonly string[] = [
  'a key retires only if its successor is stored, and at most one successor is handed out',
  'a live successor that nobody holds is of a rotation that has crashed or failed, and is listed',
  'what is revoked stays revoked, what withdrew stays withdrawn; a revoked lineage has no live key',
  'no answer is older than promised, in the process of the mark, after its message, without one',
  'a successor is of a key that was live when it retired, and addresses nobody who had withdrawn',
  'what a call says it did is done, what it refuses it had to refuse, and nothing else is thrown',
];

/** How long another process may consider a key unknown that it had tried before. */
const ABSENT_MS = 5_000;

/** A version of a record, from one write to the next. */
interface Version {
  /** Null before the key was made. */
  readonly record: KeyRecord | null;
  /** The time at which it was superseded. */
  until: number;
}

/** The ledger of one key. Processes are numbers. */
export interface Life {
  readonly name: string;
  readonly digest: string;
  keyId: string;
  /** The last one is current. */
  readonly versions: Version[];
  /** The oldest version that a look-up may answer, by process. */
  readonly floors: number[];
  /** The newest version whose writer got an answer, and has published it. */
  acknowledged: number;
  /** The processes that tried it before it was made, and may remember that it is unknown. */
  readonly triedBy: Set<number>;
  madeBy: number;
  /** Whether anybody was given its text. */
  isHeld: boolean;
  /** The record at the time of its retirement. */
  retired: KeyRecord | undefined;
  /** Whether it was last resumed when the first key had been revoked. */
  isResumedLate: boolean;
}

/** The versions that were current while a call was in progress. */
export interface Window {
  readonly life: Life;
  /** The oldest version that the call may answer. */
  readonly from: number;
  readonly since: number;
  /** Whether the call may still answer that there is no such key. */
  readonly mayBeAbsent: boolean;
}

type Database = Pick<KeyStore, 'findById' | 'list' | 'listLineage'>;

export class Ledger {
  readonly #database: Database;
  readonly #processes: number;
  readonly #maxStalenessMs: number;
  readonly #wrong: string[];
  readonly #lives: Life[] = [];
  readonly #byDigest = new Map<string, Life>();
  readonly #byKeyId = new Map<string, Life>();
  /** The roots of lineages whose revocation was acknowledged. */
  readonly #closed = new Set<string>();

  /** Adds faults to `wrong`. */
  constructor(database: Database, processes: number, maxStalenessMs: number, wrong: string[]) {
    this.#database = database;
    this.#processes = processes;
    this.#maxStalenessMs = maxStalenessMs;
    this.#wrong = wrong;
  }

  // ── Names ──────────────────────────────────────────────────────────────────────────────────────

  /** Expects a key under this digest that nobody has made yet. */
  expect(digest: string, name: string): Life {
    const life: Life = {
      name,
      digest,
      keyId: '',
      versions: [{ record: null, until: Number.POSITIVE_INFINITY }],
      floors: Array.from({ length: this.#processes }, () => 0),
      acknowledged: 0,
      triedBy: new Set(),
      madeBy: -1,
      isHeld: false,
      retired: undefined,
      isResumedLate: false,
    };
    this.#lives.push(life);
    this.#byDigest.set(digest, life);
    return life;
  }

  /** Returns the ledger of a digest. A successor is named after its maker. */
  ofDigest(digest: string, name = '?'): Life {
    return this.#byDigest.get(digest) ?? this.expect(digest, name);
  }

  ofText(text: string): Life {
    return this.ofDigest(digestKey(text));
  }

  ofKeyId(keyId: string): Life | undefined {
    return this.#byKeyId.get(keyId);
  }

  // ── What happens ───────────────────────────────────────────────────────────────────────────────

  /** Adds a record that exists from the start, and that every process knows. */
  begin(digest: string, name: string, record: KeyRecord): void {
    const life = this.expect(digest, name);
    life.keyId = record.keyId;
    life.versions[0] = { record, until: Number.POSITIVE_INFINITY };
    life.isHeld = true;
    this.#byKeyId.set(record.keyId, life);
  }

  inserted(record: KeyRecord, process: number, time: number): void {
    const life = this.ofDigest(record.digest);
    life.keyId = record.keyId;
    life.madeBy = process;
    this.#byKeyId.set(record.keyId, life);
    this.#supersede(life, record, time);
  }

  /** Notes that a mark was written. */
  marked(life: Life, mark: Mark, time: number): void {
    const before = currentOf(life);
    const after = this.#database.findById(life.keyId) as KeyRecord | null;
    if (before === null || after === null) {
      this.#wrong.push(`${life.name}: a mark was written on no record`);
      return;
    }
    if (mark.kind === 'retire') life.retired = before;
    if (mark.kind === 'resume') {
      const [first] = this.#lives;
      life.isResumedLate = first !== undefined && currentOf(first)?.revokedAt !== null;
    }
    if (!isOnward(before, after)) this.#wrong.push(`${life.name}: ${mark.kind} undid something`);
    this.#supersede(life, after, time);
  }

  #supersede(life: Life, record: KeyRecord, time: number): void {
    const last = life.versions.at(-1);
    if (last !== undefined) last.until = time;
    life.versions.push({ record, until: Number.POSITIVE_INFINITY });
  }

  /** Notes that a process learned of a change, after which it may answer nothing older. */
  tell(life: Life, process: number): void {
    life.floors[process] = newestOf(life);
  }

  /** Notes that a process has forgotten everything from before. */
  tellAll(process: number): void {
    for (const life of this.#lives) this.tellMade(life, process);
  }

  /**
   * Notes that a process made a key, or tried to, so that it no longer considers the key unknown.
   */
  tellMade(life: Life, process: number): void {
    life.triedBy.delete(process);
    this.tell(life, process);
  }

  /** Notes that a caller was given the text of a key. */
  handOut(life: Life): void {
    life.isHeld = true;
    const record = currentOf(life);
    if (record === null) {
      this.#wrong.push(`${life.name} was handed out and is not stored`);
      return;
    }
    if (record.rotatedFrom === null) return;
    const old = this.#byKeyId.get(record.rotatedFrom);
    const retired = old?.retired;
    if (old === undefined || retired === undefined) {
      this.#wrong.push(`${life.name} was handed out, and its predecessor is not retired`);
      return;
    }
    if (retired.revokedAt !== null || retired.suspendedAt !== null) {
      this.#wrong.push(`${life.name} was handed out as the successor of an ended key`);
    }
    const regained = retired.withdrawn.filter((each) => record.accessibleEntities.includes(each));
    if (regained.length > 0) this.#wrong.push(`${life.name} addresses an entity that withdrew`);
    if (this.heldSuccessorsOf(old) > 1) this.#wrong.push(`${old.name} has two successors`);
  }

  /** Notes that the revocation of a key's lineage was acknowledged. */
  close(life: Life): void {
    const root = currentOf(life)?.rootKeyId;
    if (root !== undefined) this.#closed.add(root);
  }

  heldSuccessorsOf(old: Life): number {
    const isSuccessor = (life: Life): boolean =>
      life.isHeld && currentOf(life)?.rotatedFrom === old.keyId;
    return this.#lives.filter(isSuccessor).length;
  }

  // ── What may be answered ───────────────────────────────────────────────────────────────────────

  /** Opens a window for a call that starts now and asks the database. */
  open(life: Life, time: number): Window {
    return { life, from: newestOf(life), since: time, mayBeAbsent: false };
  }

  /**
   * Opens a window for a look-up that starts now in a process with a cache. `isCurrent`: no message
   * about the key is on its way there.
   */
  openCached(life: Life, process: number, time: number, isCurrent: boolean): Window {
    const { versions, floors, acknowledged } = life;
    if (currentOf(life) === null) life.triedBy.add(process);
    const oldest = versions.findIndex(({ until }) => until > time - this.#maxStalenessMs);
    const told = Math.max(floors[process] ?? 0, isCurrent ? acknowledged : 0);
    const absent = versions[0];
    const absentMs = Math.min(ABSENT_MS, this.#maxStalenessMs);
    const isRecent = absent?.record === null && absent.until > time - absentMs;
    const isFirst = absent?.record === null ? 1 : 0;
    return {
      life,
      from: Math.max(oldest, told, Math.min(isFirst, newestOf(life))),
      since: time,
      mayBeAbsent: isRecent && life.triedBy.has(process),
    };
  }

  /** Returns everything that `verify` may answer at the end of such a window. */
  answersIn({ life, from, since, mayBeAbsent }: Window, time: number): ReadonlySet<string> {
    const answers = new Set<string>();
    if (mayBeAbsent) answers.add(answerOf(null, since));
    for (const { record } of life.versions.slice(from)) {
      answers.add(answerOf(record, since));
      answers.add(answerOf(record, time));
    }
    return answers;
  }

  // ── What the database may hold ─────────────────────────────────────────────────────────────────

  /**
   * Checks what has to hold at any time, and hence after any crash, because a process that takes no
   * further step has crashed. `open`: by process, the number of rotations that have not ended, or
   * that failed with the store.
   */
  check(open: readonly number[]): void {
    const orphans = open.map(() => 0);
    for (const life of this.#lives) {
      const record = currentOf(life);
      if (record === null) continue;
      const isLive = record.revokedAt === null;
      if (record.retireAt !== null && !this.#hasSuccessor(life)) {
        this.#wrong.push(`${life.name} is retired and has no successor`);
      }
      if (isLive && life.isHeld && this.#isClosed(record)) {
        this.#wrong.push(`${life.name} lives, and its lineage was revoked`);
      }
      if (!isLive || life.isHeld || record.rotatedFrom === null) continue;
      orphans[life.madeBy] = (orphans[life.madeBy] ?? 0) + 1;
      if (!this.#isListed(record)) this.#wrong.push(`${life.name} is not listed`);
    }
    for (const [process, count] of orphans.entries()) {
      if (count <= (open[process] ?? 0)) continue;
      this.#wrong.push(`${count} successors of process ${process} live, and nobody holds them`);
    }
  }

  #isClosed({ rootKeyId, issuedUnder }: KeyRecord): boolean {
    return this.#closed.has(rootKeyId) || this.#closed.has(issuedUnder ?? '');
  }

  #hasSuccessor({ keyId }: Life): boolean {
    return this.#lives.some((life) => currentOf(life)?.rotatedFrom === keyId);
  }

  /** Checks whether management finds a record that nobody holds. */
  #isListed({ keyId, prefix, entityId, rootKeyId }: KeyRecord): boolean {
    const query = { prefix, entityId, after: null, limit: 100 };
    const listed = this.#database.list(query) as readonly KeyRecord[];
    const family = { rootKeyId, after: null, limit: 100 };
    const lineage = this.#database.listLineage(family) as readonly KeyRecord[];
    return [listed, lineage].every((rows) => rows.some((row) => row.keyId === keyId));
  }

  // ── As text ────────────────────────────────────────────────────────────────────────────────────

  /**
   * Returns the part of the ledger that can still matter. `windows`: those of the calls in
   * progress. It leaves out versions that nothing can answer any more, and counts the others from
   * there.
   */
  state(windows: readonly Window[], time: number, isCached: readonly boolean[]): string {
    const oldestAt = time - this.#maxStalenessMs;
    const parts = this.#lives.map((life) => {
      const { name, versions, floors, acknowledged, triedBy, isHeld, retired } = life;
      const { isResumedLate } = life;
      const ofLife = windows.filter((window) => window.life === life);
      const young = versions.findIndex(({ until }) => until > oldestAt);
      const cachedFrom = floors.map((floor, index) =>
        isCached[index] ? Math.max(floor, young) : newestOf(life),
      );
      const from = Math.min(...cachedFrom, ...ofLife.map((window) => window.from));
      const kept = versions
        .slice(from)
        .map(({ record, until }) => `${marksOf(record, time)}<${until}`);
      const told = cachedFrom.map((floor) => floor - from);
      const waiting = ofLife.map((window) => `${window.from - from}@${window.since}`);
      const absent =
        versions[0]?.record === null ? `${versions[0].until}${[...triedBy].join()}` : '';
      const current = currentOf(life);
      const isClosed = current !== null && this.#isClosed(current);
      const atRetirement = retired === undefined ? '' : marksOf(retired, time);
      const facts = `${isHeld}${isClosed}${isResumedLate}${atRetirement}`;
      const newest = Math.max(0, acknowledged - from);
      return `${name} ${kept.join()} ${told.join()} ${newest} ${waiting.join()} ${absent} ${facts}`;
    });
    return parts.sort().join('\n');
  }

  /** Describes an answer of the database, with names instead of ids. */
  textOf(answer: unknown, time: number): string {
    if (Array.isArray(answer)) return answer.map((row) => this.textOf(row, time)).join();
    if (answer instanceof Error) return answer.message;
    if (typeof answer !== 'object' || answer === null) return String(answer);
    const record = answer as KeyRecord;
    return `${this.ofKeyId(record.keyId)?.name} ${marksOf(record, time)}`;
  }
}

function newestOf({ versions }: Life): number {
  return versions.length - 1;
}

export function currentOf({ versions }: Life): KeyRecord | null {
  return versions.at(-1)?.record ?? null;
}

/** Returns the answer that `verify` must give for a record. */
export function answerOf(record: KeyRecord | null, time: number): string {
  if (record === null) return 'unknown_key';
  const { revokedAt, suspendedAt, retireAt, withdrawn, accessibleEntities } = record;
  if (revokedAt !== null) return 'revoked';
  if (suspendedAt !== null) return 'suspended';
  if (retireAt !== null && time >= retireAt) return 'retired';
  const entities = accessibleEntities.filter((entity) => !withdrawn.includes(entity));
  return `passed for ${entities.join()}`;
}

/** Describes the marks of a record, as far as they can still matter. */
function marksOf(record: KeyRecord | null, time: number): string {
  if (record === null) return 'none';
  const { revokedAt, suspendedAt, retireAt, withdrawn, accessibleEntities } = record;
  const isOver = retireAt !== null && time >= retireAt;
  return [
    revokedAt === null ? '' : 'R',
    suspendedAt === null ? '' : 'S',
    isOver ? 'T' : (retireAt ?? ''),
    `${withdrawn.length}/${accessibleEntities.length}`,
  ].join('');
}

/** Checks that a mark undoes nothing: revoked stays revoked, withdrawn stays withdrawn. */
function isOnward(before: KeyRecord, after: KeyRecord): boolean {
  const { revokedAt, retireAt, withdrawn } = before;
  const keepsRevocation = revokedAt === null || after.revokedAt === revokedAt;
  const keepsRetirement = retireAt === null || after.retireAt === retireAt;
  const keepsWithdrawals = withdrawn.every((entity) => after.withdrawn.includes(entity));
  return keepsRevocation && keepsRetirement && keepsWithdrawals && isSameKey(before, after);
}

const LASTING = [
  'keyId',
  'digest',
  'entityId',
  'accessibleEntities',
  'scopes',
  'rotatedFrom',
] as const;

function isSameKey(before: KeyRecord, after: KeyRecord): boolean {
  return LASTING.every((field) => isDeepStrictEqual(before[field], after[field]));
}
