/**
 * Tracks all keys while processes work on them: every version of each record and when it was
 * superseded, which process learned of which version, and who has the text of which key. From this
 * follows what a look-up may answer and what the database may hold at any time.
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

/** How long another process may treat a key as unknown after it looked it up too early. */
const ABSENT_MS = 5_000;

/** A record from one write to the next. */
interface Version {
  /** Null before the key was created. */
  readonly record: KeyRecord | null;
  /** When it was superseded. */
  until: number;
}

/** The history of one key. Processes are numbers. */
export interface Life {
  readonly name: string;
  readonly digest: string;
  keyId: string;
  /** The last is the current one. */
  readonly versions: Version[];
  /** By process: the oldest version that a look-up may answer. */
  readonly floors: number[];
  /** The newest version whose write was confirmed and published. */
  acknowledged: number;
  /** Processes that looked it up before it was created and may have cached its absence. */
  readonly triedBy: Set<number>;
  madeBy: number;
  /** Whether a caller received its text. */
  isHeld: boolean;
  /** The record as it was when it was retired. */
  retired: KeyRecord | undefined;
}

/** The versions that were current while a call was in progress. */
export interface Window {
  readonly life: Life;
  /** The oldest version that the call may answer. */
  readonly from: number;
  readonly since: number;
  /** Whether it may still answer that the key does not exist. */
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
  /** The roots of lineages whose revocation was confirmed to a caller. */
  readonly #closed = new Set<string>();

  /** Violations are added to `wrong`. */
  constructor(database: Database, processes: number, maxStalenessMs: number, wrong: string[]) {
    this.#database = database;
    this.#processes = processes;
    this.#maxStalenessMs = maxStalenessMs;
    this.#wrong = wrong;
  }

  // ── Names ──────────────────────────────────────────────────────────────────────────────────────

  /** Registers a digest before its key exists. */
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
    };
    this.#lives.push(life);
    this.#byDigest.set(digest, life);
    return life;
  }

  /** Successors are named after the process that created them. */
  ofDigest(digest: string, name = '?'): Life {
    return this.#byDigest.get(digest) ?? this.expect(digest, name);
  }

  ofText(text: string): Life {
    return this.ofDigest(digestKey(text));
  }

  ofKeyId(keyId: string): Life | undefined {
    return this.#byKeyId.get(keyId);
  }

  // ── Events ─────────────────────────────────────────────────────────────────────────────────────

  /** Registers a record that exists from the start and that every process knows. */
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
    if (!isOnward(before, after)) this.#wrong.push(`${life.name}: ${mark.kind} undid something`);
    this.#supersede(life, after, time);
  }

  #supersede(life: Life, record: KeyRecord, time: number): void {
    const last = life.versions.at(-1);
    if (last !== undefined) last.until = time;
    life.versions.push({ record, until: Number.POSITIVE_INFINITY });
  }

  /** A process learned that a key changed. It must not answer with an older version after this. */
  tell(life: Life, process: number): void {
    life.floors[process] = newestOf(life);
  }

  /** A process has dropped everything that it had cached. */
  tellAll(process: number): void {
    for (const life of this.#lives) this.tellMade(life, process);
  }

  /** A process created a key or tried to, so it must not treat it as unknown any more. */
  tellMade(life: Life, process: number): void {
    life.triedBy.delete(process);
    this.tell(life, process);
  }

  /** A caller received the text of a key. */
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

  /** A caller received confirmation that the lineage of a key is revoked. */
  close(life: Life): void {
    const root = currentOf(life)?.rootKeyId;
    if (root !== undefined) this.#closed.add(root);
  }

  heldSuccessorsOf(old: Life): number {
    const isSuccessor = (life: Life): boolean =>
      life.isHeld && currentOf(life)?.rotatedFrom === old.keyId;
    return this.#lives.filter(isSuccessor).length;
  }

  // ── Allowed answers ────────────────────────────────────────────────────────────────────────────

  /** Opens the window of a call that begins now and asks the database. */
  open(life: Life, time: number): Window {
    return { life, from: newestOf(life), since: time, mayBeAbsent: false };
  }

  /**
   * Opens the window of a look-up that begins now in a process with a cache. `isCurrent`: no
   * message about the key is on its way to that process.
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

  /** Everything that `verify` may answer at the end of such a window. */
  answersIn({ life, from, since, mayBeAbsent }: Window, time: number): ReadonlySet<string> {
    const answers = new Set<string>();
    if (mayBeAbsent) answers.add(answerOf(null, since));
    for (const { record } of life.versions.slice(from)) {
      answers.add(answerOf(record, since));
      answers.add(answerOf(record, time));
    }
    return answers;
  }

  // ── Allowed contents of the database ───────────────────────────────────────────────────────────

  /**
   * Must hold at any time, and therefore after any crash: a crashed process is one that takes no
   * further step. `open`: by process, the rotations that have not ended or that failed with the
   * store.
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
      if (isLive && life.isHeld && this.#closed.has(record.rootKeyId)) {
        this.#wrong.push(`${life.name} is live, but its lineage was revoked`);
      }
      if (!isLive || life.isHeld || record.rotatedFrom === null) continue;
      orphans[life.madeBy] = (orphans[life.madeBy] ?? 0) + 1;
      if (!this.#isListed(record)) this.#wrong.push(`${life.name} is not listed`);
    }
    for (const [process, count] of orphans.entries()) {
      if (count <= (open[process] ?? 0)) continue;
      this.#wrong.push(
        `${count} successors of process ${process} are live, but nobody received them`,
      );
    }
  }

  #hasSuccessor({ keyId }: Life): boolean {
    return this.#lives.some((life) => currentOf(life)?.rotatedFrom === keyId);
  }

  /** Whether management finds a record that nobody received. */
  #isListed({ keyId, prefix, entityUuid, rootKeyId }: KeyRecord): boolean {
    const query = { prefix, entityUuid, after: null, limit: 100 };
    const listed = this.#database.list(query) as readonly KeyRecord[];
    const lineage = this.#database.listLineage(rootKeyId) as readonly KeyRecord[];
    return [listed, lineage].every((rows) => rows.some((row) => row.keyId === keyId));
  }

  // ── As text ────────────────────────────────────────────────────────────────────────────────────

  /**
   * Everything that can still matter. `windows` are those of the calls in progress. Versions that
   * no call can answer any more are left out, and the numbering starts after them.
   */
  state(windows: readonly Window[], time: number, isCached: readonly boolean[]): string {
    const oldestAt = time - this.#maxStalenessMs;
    const parts = this.#lives.map((life) => {
      const { name, versions, floors, acknowledged, triedBy, isHeld, retired } = life;
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
      const isClosed = this.#closed.has(currentOf(life)?.rootKeyId ?? '');
      const facts = `${isHeld}${isClosed}${retired === undefined ? '' : marksOf(retired, time)}`;
      const newest = Math.max(0, acknowledged - from);
      return `${name} ${kept.join()} ${told.join()} ${newest} ${waiting.join()} ${absent} ${facts}`;
    });
    return parts.sort().join('\n');
  }

  /** The database's answer, with names in place of ids. */
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

/** The answer that `verify` must give for a record. */
export function answerOf(record: KeyRecord | null, time: number): string {
  if (record === null) return 'unknown_key';
  const { revokedAt, suspendedAt, retireAt, withdrawn, accessibleEntities } = record;
  if (revokedAt !== null) return 'revoked';
  if (suspendedAt !== null) return 'suspended';
  if (retireAt !== null && time >= retireAt) return 'retired';
  const entities = accessibleEntities.filter((entity) => !withdrawn.includes(entity));
  return `passed for ${entities.join()}`;
}

/** The marks of a record, as far as they can still matter. */
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

/**
 * Whether a mark left earlier decisions intact: revoked stays revoked, withdrawn stays withdrawn.
 */
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
  'entityUuid',
  'accessibleEntities',
  'scopes',
  'rotatedFrom',
] as const;

function isSameKey(before: KeyRecord, after: KeyRecord): boolean {
  return LASTING.every((field) => isDeepStrictEqual(before[field], after[field]));
}
