/**
 * The operations of the platform on threats, interactions, decoys, canaries, reports and users,
 * each within one entity. They know nothing about keys: the guard has decided before.
 */
import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type {
  Canary,
  Decoy,
  DecoyWithBreadcrumbs,
  Interaction,
  Report,
  Table,
  Threat,
  User,
} from './records.ts';
import type { Change, Page, PageInput } from './rows.ts';
import {
  countBy,
  countRows,
  createTables,
  deleteRow,
  findRow,
  hasEmail,
  insertRow,
  inTransaction,
  listBreadcrumbs,
  listRows,
  topSources,
  updateRow,
} from './rows.ts';
import { seedRows } from './seed.ts';

/** Thrown if the state of a row does not allow the request. The caller gets the message. */
export class Conflict extends Error {}

export interface Threats {
  listThreats(entityId: string, input: PageInput): Page<Threat>;
  readThreat(entityId: string, id: string): Threat | null;
  updateThreat(
    entityId: string,
    id: string,
    change: Change<Pick<Threat, 'status' | 'notes'>>,
  ): Threat | null;
}

export interface Interactions {
  listInteractions(entityId: string, input: PageInput): Page<Interaction>;
  readInteraction(entityId: string, id: string): Interaction | null;
}

export interface Decoys {
  listDecoys(entityId: string, input: PageInput): Page<Decoy>;
  readDecoy(entityId: string, id: string): DecoyWithBreadcrumbs | null;
  /** Requests a software update. The decoy reports its new version afterwards. */
  updateDecoy(entityId: string, id: string): Decoy | null;
  /** Idempotent. The row stays, because interactions refer to it. False without such a row. */
  decommissionDecoy(entityId: string, id: string): boolean;
}

export interface Canaries {
  listCanaries(entityId: string, input: PageInput): Page<Canary>;
  readCanary(entityId: string, id: string): Canary | null;
  createCanary(entityId: string, input: Pick<Canary, 'name' | 'kind' | 'notes'>): Canary;
  updateCanary(
    entityId: string,
    id: string,
    change: Change<Pick<Canary, 'name' | 'notes'>>,
  ): Canary | null;
  /** Idempotent. The row stays. False without such a row. */
  decommissionCanary(entityId: string, id: string): boolean;
}

export interface Users {
  listUsers(entityId: string, input: PageInput): Page<User>;
  readUser(entityId: string, id: string): User | null;
  /** Throws {@link Conflict} if the entity has a user with this email. */
  createUser(entityId: string, input: Pick<User, 'email' | 'name' | 'role'>): User;
  /** False without such a user. */
  deleteUser(entityId: string, id: string): boolean;
}

export interface Domain extends Threats, Interactions, Decoys, Canaries, Users {
  exportReport(entityId: string): Report;
  /** Gives an entity sample data, the same on each machine. Does nothing if it has decoys. */
  seed(entityId: string): void;
}

export interface DomainOptions {
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  readonly newId?: () => string;
}

interface Context {
  readonly db: DatabaseSync;
  /** The present time in the format of the rows. */
  readonly time: () => string;
  readonly newId: () => string;
}

function threatsOf({ db }: Context): Threats {
  return {
    listThreats: (entityId, input) => listRows(db, 'threats', entityId, input),
    readThreat: (entityId, id) => findRow(db, 'threats', entityId, id),
    updateThreat: (entityId, id, change) => updateRow(db, 'threats', entityId, id, change),
  };
}

function interactionsOf({ db }: Context): Interactions {
  return {
    listInteractions: (entityId, input) => listRows(db, 'interactions', entityId, input),
    readInteraction: (entityId, id) => findRow(db, 'interactions', entityId, id),
  };
}

function requireActive(row: Decoy | Canary): void {
  if (row.status === 'decommissioned') throw new Conflict('It is decommissioned.');
}

function decoysOf({ db, time }: Context): Decoys {
  return {
    listDecoys: (entityId, input) => listRows(db, 'decoys', entityId, input),
    readDecoy(entityId, id) {
      const decoy = findRow(db, 'decoys', entityId, id);
      if (decoy === null) return null;
      return { ...decoy, breadcrumbs: listBreadcrumbs(db, entityId, id) };
    },
    updateDecoy(entityId, id) {
      const decoy = findRow(db, 'decoys', entityId, id);
      if (decoy === null) return null;
      requireActive(decoy);
      return updateRow(db, 'decoys', entityId, id, { update_requested_at: time() });
    },
    decommissionDecoy: (entityId, id) =>
      updateRow(db, 'decoys', entityId, id, { status: 'decommissioned' }) !== null,
  };
}

function canariesOf({ db, time, newId }: Context): Canaries {
  return {
    listCanaries: (entityId, input) => listRows(db, 'canaries', entityId, input),
    readCanary: (entityId, id) => findRow(db, 'canaries', entityId, id),
    createCanary(entityId, input) {
      const row: Canary = { id: newId(), created_at: time(), ...input, status: 'active' };
      return insertRow(db, 'canaries', entityId, row);
    },
    updateCanary(entityId, id, change) {
      const canary = findRow(db, 'canaries', entityId, id);
      if (canary === null) return null;
      requireActive(canary);
      return updateRow(db, 'canaries', entityId, id, change);
    },
    decommissionCanary: (entityId, id) =>
      updateRow(db, 'canaries', entityId, id, { status: 'decommissioned' }) !== null,
  };
}

function usersOf({ db, time, newId }: Context): Users {
  return {
    listUsers: (entityId, input) => listRows(db, 'users', entityId, input),
    readUser: (entityId, id) => findRow(db, 'users', entityId, id),
    createUser(entityId, input) {
      if (hasEmail(db, entityId, input.email)) throw new Conflict('A user with this email exists.');
      return insertRow(db, 'users', entityId, { id: newId(), created_at: time(), ...input });
    },
    deleteUser: (entityId, id) => deleteRow(db, 'users', entityId, id),
  };
}

function exportReport({ db, time }: Context, entityId: string): Report {
  return {
    generated_at: time(),
    threats_by_status: countBy(db, 'threats', 'status', entityId),
    threats_by_severity: countBy(db, 'threats', 'severity', entityId),
    interactions: countRows(db, 'interactions', entityId),
    top_sources: topSources(db, entityId),
    decoys_by_status: countBy(db, 'decoys', 'status', entityId),
    canaries_by_status: countBy(db, 'canaries', 'status', entityId),
  };
}

function seed({ db }: Context, entityId: string): void {
  // The check is part of the transaction, so that only one of several starting processes seeds.
  inTransaction(db, () => {
    const { items } = listRows(db, 'decoys', entityId, { limit: 1, after: null });
    if (items.length > 0) return;
    for (const [table, list] of Object.entries(seedRows(entityId))) {
      for (const row of list) insertRow(db, table as Table, entityId, row);
    }
  });
}

/** Opens the domain on a database, and creates missing tables. Synchronous, like node:sqlite. */
export function createDomain(db: DatabaseSync, options: DomainOptions = {}): Domain {
  const { now = Date.now, newId = randomUUID } = options;
  createTables(db);
  const context: Context = { db, time: () => new Date(now()).toISOString(), newId };
  return {
    ...threatsOf(context),
    ...interactionsOf(context),
    ...decoysOf(context),
    ...canariesOf(context),
    ...usersOf(context),
    exportReport: (entityId) => exportReport(context, entityId),
    seed: (entityId) => seed(context, entityId),
  };
}
