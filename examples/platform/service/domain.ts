/**
 * What the platform manages, in SQLite. Every table is keyed by entity, and every statement below
 * filters by it: another entity's row looks as absent as one that never existed.
 *
 * The fields are examples: just enough for every operation to have something to do.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';

export const THREAT_STATUSES = ['open', 'investigating', 'resolved', 'dismissed'] as const;
export const CANARY_KINDS = ['document', 'credential', 'link', 'dns'] as const;
export const USER_ROLES = ['viewer', 'analyst', 'admin'] as const;

/** Times are ISO 8601 in UTC, so that their text sorts as they do. */
interface Row {
  readonly id: string;
  readonly created_at: string;
}

export interface Threat extends Row {
  readonly title: string;
  readonly severity: 'low' | 'medium' | 'high' | 'critical';
  readonly status: (typeof THREAT_STATUSES)[number];
  readonly notes: string;
}

export interface Interaction extends Row {
  readonly decoy_id: string;
  readonly threat_id: string;
  readonly source_ip: string;
  readonly summary: string;
}

export interface Decoy extends Row {
  readonly name: string;
  readonly kind: string;
  readonly software_version: string;
  readonly update_requested_at: string | null;
  readonly status: 'active' | 'decommissioned';
}

/** What leads an intruder to a decoy. */
export interface Breadcrumb extends Row {
  readonly decoy_id: string;
  readonly kind: string;
  readonly location: string;
}

export interface Canary extends Row {
  readonly name: string;
  readonly kind: (typeof CANARY_KINDS)[number];
  readonly notes: string;
  readonly status: 'active' | 'decommissioned';
}

export interface User extends Row {
  readonly email: string;
  readonly name: string;
  readonly role: (typeof USER_ROLES)[number];
}

interface Tables {
  readonly threats: Threat;
  readonly interactions: Interaction;
  readonly decoys: Decoy;
  readonly breadcrumbs: Breadcrumb;
  readonly canaries: Canary;
  readonly users: User;
}
type Table = keyof Tables;

// The columns besides `entity_uuid`, `id` and `created_at`: the whole schema, and what each
// projection shows.
const COLUMNS: Readonly<Record<Table, readonly string[]>> = {
  threats: ['title', 'severity', 'status', 'notes'],
  interactions: ['decoy_id', 'threat_id', 'source_ip', 'summary'],
  decoys: ['name', 'kind', 'software_version', 'update_requested_at', 'status'],
  breadcrumbs: ['decoy_id', 'kind', 'location'],
  canaries: ['name', 'kind', 'notes', 'status'],
  users: ['email', 'name', 'role'],
};

/** New values for some of the columns; `undefined` leaves a column unchanged. */
type Change<T> = { readonly [Column in keyof T]?: T[Column] | undefined };

/** The position after the last row of a page. */
export interface Position {
  readonly created_at: string;
  readonly id: string;
}

export interface PageInput {
  readonly limit: number;
  readonly after: Position | null;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: Position | null;
}

/** The state of a row does not allow the request; the message is for the caller. */
export class Conflict extends Error {}

export interface Report {
  readonly generated_at: string;
  readonly threats_by_status: Readonly<Record<string, number>>;
  readonly threats_by_severity: Readonly<Record<string, number>>;
  readonly interactions: number;
  readonly top_sources: readonly { readonly source_ip: string; readonly interactions: number }[];
  readonly decoys_by_status: Readonly<Record<string, number>>;
  readonly canaries_by_status: Readonly<Record<string, number>>;
}

export type Domain = ReturnType<typeof createDomain>;

export interface DomainOptions {
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  readonly newId?: () => string;
}

/** Opens the domain on a database and creates missing tables. Synchronous, as node:sqlite is. */
export function createDomain(db: DatabaseSync, options: DomainOptions = {}) {
  const { now = Date.now, newId = randomUUID } = options;
  const time = () => new Date(now()).toISOString();
  createTables(db);

  // The names of tables and columns come from this file; every value is a parameter.
  const select = (table: Table) =>
    `SELECT id, created_at, ${COLUMNS[table].join(', ')} FROM ${table}`;

  function page<T extends Table>(
    table: T,
    entityUuid: string,
    { limit, after }: PageInput,
  ): Page<Tables[T]> {
    // One row more than asked for shows whether there is a next page; '~' sorts after every time
    // and id.
    const { created_at, id } = after ?? { created_at: '~', id: '~' };
    const rows = db
      .prepare(
        `${select(table)} WHERE entity_uuid = ? AND (created_at, id) < (?, ?) ORDER BY created_at DESC, id DESC LIMIT ?`,
      )
      .all(entityUuid, created_at, id, limit + 1) as unknown as Tables[T][];
    const items = rows.slice(0, limit);
    const last = rows.length > limit ? items.at(-1) : undefined;
    return {
      items,
      next: last === undefined ? null : { created_at: last.created_at, id: last.id },
    };
  }

  function find<T extends Table>(table: T, entityUuid: string, id: string): Tables[T] | null {
    const row = db.prepare(`${select(table)} WHERE entity_uuid = ? AND id = ?`).get(entityUuid, id);
    return (row as unknown as Tables[T] | undefined) ?? null;
  }

  function insert<T extends Table>(table: T, entityUuid: string, row: Tables[T]): Tables[T] {
    const columns = ['entity_uuid', 'id', 'created_at', ...COLUMNS[table]];
    const named = columns.map((column) => `:${column}`);
    db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${named.join(', ')})`).run({
      entity_uuid: entityUuid,
      ...(row as unknown as Record<string, string>),
    });
    return row;
  }

  function update<T extends Table>(
    table: T,
    entityUuid: string,
    id: string,
    change: Change<Tables[T]>,
  ) {
    const given = Object.entries(change).filter(
      ([column, value]) => COLUMNS[table].includes(column) && value !== undefined,
    );
    const sets = given.map(([column]) => `${column} = :${column}`).join(', ');
    const values = Object.fromEntries(given) as Record<string, string>;
    db.prepare(`UPDATE ${table} SET ${sets} WHERE entity_uuid = :entity AND id = :id`).run({
      ...values,
      entity: entityUuid,
      id,
    });
    return find(table, entityUuid, id);
  }

  function active<T extends 'decoys' | 'canaries'>(
    table: T,
    entityUuid: string,
    id: string,
  ): Tables[T] | null {
    const row = find(table, entityUuid, id);
    if (row?.status === 'decommissioned') throw new Conflict('It is decommissioned.');
    return row;
  }

  function decommission(table: 'decoys' | 'canaries', entityUuid: string, id: string): boolean {
    return update(table, entityUuid, id, { status: 'decommissioned' }) !== null;
  }

  const count = (table: Table, column: string, entityUuid: string): Record<string, number> => {
    const rows = db
      .prepare(
        `SELECT ${column} AS name, count(*) AS n FROM ${table} WHERE entity_uuid = ? GROUP BY 1 ORDER BY 1`,
      )
      .all(entityUuid);
    return Object.fromEntries(rows.map(({ name, n }) => [String(name), Number(n)]));
  };

  const total = (entityUuid: string): number => {
    const row = db
      .prepare('SELECT count(*) AS n FROM interactions WHERE entity_uuid = ?')
      .get(entityUuid);
    return (row as { n: number }).n;
  };

  return {
    listThreats: (entityUuid: string, input: PageInput) => page('threats', entityUuid, input),
    readThreat: (entityUuid: string, id: string) => find('threats', entityUuid, id),
    updateThreat: (
      entityUuid: string,
      id: string,
      change: Change<Pick<Threat, 'status' | 'notes'>>,
    ) => update('threats', entityUuid, id, change),

    listInteractions: (entityUuid: string, input: PageInput) =>
      page('interactions', entityUuid, input),
    readInteraction: (entityUuid: string, id: string) => find('interactions', entityUuid, id),

    listDecoys: (entityUuid: string, input: PageInput) => page('decoys', entityUuid, input),
    readDecoy(entityUuid: string, id: string) {
      const decoy = find('decoys', entityUuid, id);
      const breadcrumbs = db
        .prepare(
          `${select('breadcrumbs')} WHERE entity_uuid = ? AND decoy_id = ? ORDER BY created_at, id`,
        )
        .all(entityUuid, id) as unknown as Breadcrumb[];
      return decoy && { ...decoy, breadcrumbs };
    },
    /** Asks for a software update; the decoy reports its new version once it has it. */
    updateDecoy: (entityUuid: string, id: string) =>
      active('decoys', entityUuid, id) &&
      update('decoys', entityUuid, id, { update_requested_at: time() }),
    /** Idempotent; the row stays, because interactions name it. False if there is none. */
    decommissionDecoy: (entityUuid: string, id: string) => decommission('decoys', entityUuid, id),

    listCanaries: (entityUuid: string, input: PageInput) => page('canaries', entityUuid, input),
    readCanary: (entityUuid: string, id: string) => find('canaries', entityUuid, id),
    createCanary: (entityUuid: string, input: Pick<Canary, 'name' | 'kind' | 'notes'>) =>
      insert('canaries', entityUuid, {
        id: newId(),
        created_at: time(),
        ...input,
        status: 'active',
      }),
    updateCanary: (
      entityUuid: string,
      id: string,
      change: Change<Pick<Canary, 'name' | 'notes'>>,
    ) => active('canaries', entityUuid, id) && update('canaries', entityUuid, id, change),
    decommissionCanary: (entityUuid: string, id: string) =>
      decommission('canaries', entityUuid, id),

    exportReport: (entityUuid: string): Report => ({
      generated_at: time(),
      threats_by_status: count('threats', 'status', entityUuid),
      threats_by_severity: count('threats', 'severity', entityUuid),
      interactions: total(entityUuid),
      top_sources: db
        .prepare(
          `SELECT source_ip, count(*) AS interactions FROM interactions WHERE entity_uuid = ?
           GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5`,
        )
        .all(entityUuid) as unknown as Report['top_sources'],
      decoys_by_status: count('decoys', 'status', entityUuid),
      canaries_by_status: count('canaries', 'status', entityUuid),
    }),

    listUsers: (entityUuid: string, input: PageInput) => page('users', entityUuid, input),
    readUser: (entityUuid: string, id: string) => find('users', entityUuid, id),
    createUser(entityUuid: string, input: Pick<User, 'email' | 'name' | 'role'>) {
      const taken = db
        .prepare('SELECT 1 FROM users WHERE entity_uuid = ? AND email = ?')
        .get(entityUuid, input.email);
      if (taken) throw new Conflict('A user with this email exists.');
      return insert('users', entityUuid, { id: newId(), created_at: time(), ...input });
    },
    deleteUser: (entityUuid: string, id: string) =>
      db.prepare('DELETE FROM users WHERE entity_uuid = ? AND id = ?').run(entityUuid, id)
        .changes === 1,

    /** Gives an entity some data, the same on each machine; does nothing if it has decoys. */
    seed(entityUuid: string): void {
      // The check is part of the transaction: of processes that start at once, only one finds
      // nothing.
      db.exec('BEGIN IMMEDIATE');
      const isNew = page('decoys', entityUuid, { limit: 1, after: null }).items.length === 0;
      for (const [table, rows] of Object.entries(isNew ? seedRows(entityUuid) : {})) {
        for (const row of rows) insert(table as Table, entityUuid, row);
      }
      db.exec('COMMIT');
    },
  };
}

function createTables(db: DatabaseSync): void {
  for (const [table, columns] of Object.entries(COLUMNS)) {
    const texts = columns.map(
      (column) => `${column} TEXT${column === 'update_requested_at' ? '' : ' NOT NULL'}, `,
    );
    db.exec(`CREATE TABLE IF NOT EXISTS ${table} (
      entity_uuid TEXT NOT NULL, id TEXT NOT NULL, created_at TEXT NOT NULL, ${texts.join('')}
      PRIMARY KEY (entity_uuid, id)) STRICT, WITHOUT ROWID`);
    db.exec(`CREATE INDEX IF NOT EXISTS ${table}_newest ON ${table} (entity_uuid, created_at, id)`);
  }
  db.exec('CREATE UNIQUE INDEX IF NOT EXISTS users_email ON users (entity_uuid, email)');
}

const START = Date.UTC(2026, 0, 5, 8);
const HOUR = 3_600_000;

/** The n-th element, cyclically. */
const cycle = <T>(list: readonly [T, ...T[]], n: number): T => list[n % list.length] ?? list[0];

/** A UUID (version 8, RFC 9562 §5.8) that depends only on the entity, the kind and the number. */
function seedId(entityUuid: string, kind: string, n: number): string {
  const hex = createHash('sha256').update(`${entityUuid}/${kind}/${n}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Uses addresses and names that are reserved for documentation (RFC 5737, RFC 2606). */
function seedRows(entityUuid: string): { readonly [T in Table]: readonly Tables[T][] } {
  const many = <T>(kind: Table, n: number, make: (n: number) => Omit<T, keyof Row>) =>
    Array.from({ length: n }, (_, i) => {
      const created_at = new Date(START + i * HOUR).toISOString();
      return { id: seedId(entityUuid, kind, i), created_at, ...make(i) } as T;
    });
  const decoy = (n: number) => seedId(entityUuid, 'decoys', n % 3);
  return {
    threats: many<Threat>('threats', 5, (n) => ({
      title: cycle(['Password spraying on ssh', 'Share enumeration', 'Canary credential used'], n),
      severity: cycle(['medium', 'low', 'critical', 'high'], n),
      status: cycle(['open', 'open', 'investigating'], n),
      notes: '',
    })),
    interactions: many<Interaction>('interactions', 12, (n) => ({
      decoy_id: decoy(n),
      threat_id: seedId(entityUuid, 'threats', n % 5),
      source_ip: cycle(['192.0.2.17', '198.51.100.4', '203.0.113.99'], n),
      summary: cycle(['Login attempt as root', 'Directory listing', 'Port scan', 'File read'], n),
    })),
    decoys: many<Decoy>('decoys', 3, (n) => ({
      name: cycle(['build-07', 'files-02', 'erp-01'], n),
      kind: cycle(['ssh', 'smb', 'http'], n),
      software_version: '4.1.0',
      update_requested_at: null,
      status: 'active',
    })),
    breadcrumbs: many<Breadcrumb>('breadcrumbs', 6, (n) => ({
      decoy_id: decoy(n),
      kind: cycle(['known_hosts', 'mapped_drive', 'browser_bookmark'], n),
      location: cycle(['laptop-114', 'laptop-203'], n),
    })),
    canaries: many<Canary>('canaries', 3, (n) => ({
      name: cycle(['Salaries 2026', 'Backup credentials', 'Board minutes'], n),
      kind: cycle(CANARY_KINDS, n),
      notes: '',
      status: 'active',
    })),
    users: many<User>('users', 3, (n) => ({
      email: `${cycle(['ana', 'ben', 'chi'], n)}@example.com`,
      name: cycle(['Ana', 'Ben', 'Chi'], n),
      role: cycle(['admin', 'analyst', 'viewer'], n),
    })),
  };
}
