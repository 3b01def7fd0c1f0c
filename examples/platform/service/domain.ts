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
  listThreats(entityUuid: string, input: PageInput): Page<Threat>;
  readThreat(entityUuid: string, id: string): Threat | null;
  updateThreat(
    entityUuid: string,
    id: string,
    change: Change<Pick<Threat, 'status' | 'notes'>>,
  ): Threat | null;
}

export interface Interactions {
  listInteractions(entityUuid: string, input: PageInput): Page<Interaction>;
  readInteraction(entityUuid: string, id: string): Interaction | null;
}

export interface Decoys {
  listDecoys(entityUuid: string, input: PageInput): Page<Decoy>;
  readDecoy(entityUuid: string, id: string): DecoyWithBreadcrumbs | null;
  /** Requests a software update. The decoy reports its new version afterwards. */
  updateDecoy(entityUuid: string, id: string): Decoy | null;
  /** Idempotent. The row stays, because interactions refer to it. False without such a row. */
  decommissionDecoy(entityUuid: string, id: string): boolean;
}

export interface Canaries {
  listCanaries(entityUuid: string, input: PageInput): Page<Canary>;
  readCanary(entityUuid: string, id: string): Canary | null;
  createCanary(entityUuid: string, input: Pick<Canary, 'name' | 'kind' | 'notes'>): Canary;
  updateCanary(
    entityUuid: string,
    id: string,
    change: Change<Pick<Canary, 'name' | 'notes'>>,
  ): Canary | null;
  /** Idempotent. The row stays. False without such a row. */
  decommissionCanary(entityUuid: string, id: string): boolean;
}

export interface Users {
  listUsers(entityUuid: string, input: PageInput): Page<User>;
  readUser(entityUuid: string, id: string): User | null;
  /** Throws {@link Conflict} if the entity has a user with this email. */
  createUser(entityUuid: string, input: Pick<User, 'email' | 'name' | 'role'>): User;
  /** False without such a user. */
  deleteUser(entityUuid: string, id: string): boolean;
}

export interface Domain extends Threats, Interactions, Decoys, Canaries, Users {
  exportReport(entityUuid: string): Report;
  /** Gives an entity sample data, the same on each machine. Does nothing if it has decoys. */
  seed(entityUuid: string): void;
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
    listThreats: (entityUuid, input) => listRows(db, 'threats', entityUuid, input),
    readThreat: (entityUuid, id) => findRow(db, 'threats', entityUuid, id),
    updateThreat: (entityUuid, id, change) => updateRow(db, 'threats', entityUuid, id, change),
  };
}

function interactionsOf({ db }: Context): Interactions {
  return {
    listInteractions: (entityUuid, input) => listRows(db, 'interactions', entityUuid, input),
    readInteraction: (entityUuid, id) => findRow(db, 'interactions', entityUuid, id),
  };
}

function requireActive(row: Decoy | Canary): void {
  if (row.status === 'decommissioned') throw new Conflict('It is decommissioned.');
}

function decoysOf({ db, time }: Context): Decoys {
  return {
    listDecoys: (entityUuid, input) => listRows(db, 'decoys', entityUuid, input),
    readDecoy(entityUuid, id) {
      const decoy = findRow(db, 'decoys', entityUuid, id);
      if (decoy === null) return null;
      return { ...decoy, breadcrumbs: listBreadcrumbs(db, entityUuid, id) };
    },
    updateDecoy(entityUuid, id) {
      const decoy = findRow(db, 'decoys', entityUuid, id);
      if (decoy === null) return null;
      requireActive(decoy);
      return updateRow(db, 'decoys', entityUuid, id, { update_requested_at: time() });
    },
    decommissionDecoy: (entityUuid, id) =>
      updateRow(db, 'decoys', entityUuid, id, { status: 'decommissioned' }) !== null,
  };
}

function canariesOf({ db, time, newId }: Context): Canaries {
  return {
    listCanaries: (entityUuid, input) => listRows(db, 'canaries', entityUuid, input),
    readCanary: (entityUuid, id) => findRow(db, 'canaries', entityUuid, id),
    createCanary(entityUuid, input) {
      const row: Canary = { id: newId(), created_at: time(), ...input, status: 'active' };
      return insertRow(db, 'canaries', entityUuid, row);
    },
    updateCanary(entityUuid, id, change) {
      const canary = findRow(db, 'canaries', entityUuid, id);
      if (canary === null) return null;
      requireActive(canary);
      return updateRow(db, 'canaries', entityUuid, id, change);
    },
    decommissionCanary: (entityUuid, id) =>
      updateRow(db, 'canaries', entityUuid, id, { status: 'decommissioned' }) !== null,
  };
}

function usersOf({ db, time, newId }: Context): Users {
  return {
    listUsers: (entityUuid, input) => listRows(db, 'users', entityUuid, input),
    readUser: (entityUuid, id) => findRow(db, 'users', entityUuid, id),
    createUser(entityUuid, input) {
      if (hasEmail(db, entityUuid, input.email))
        throw new Conflict('A user with this email exists.');
      return insertRow(db, 'users', entityUuid, { id: newId(), created_at: time(), ...input });
    },
    deleteUser: (entityUuid, id) => deleteRow(db, 'users', entityUuid, id),
  };
}

function exportReport({ db, time }: Context, entityUuid: string): Report {
  return {
    generated_at: time(),
    threats_by_status: countBy(db, 'threats', 'status', entityUuid),
    threats_by_severity: countBy(db, 'threats', 'severity', entityUuid),
    interactions: countRows(db, 'interactions', entityUuid),
    top_sources: topSources(db, entityUuid),
    decoys_by_status: countBy(db, 'decoys', 'status', entityUuid),
    canaries_by_status: countBy(db, 'canaries', 'status', entityUuid),
  };
}

function seed({ db }: Context, entityUuid: string): void {
  // The check is part of the transaction, so that only one of several starting processes seeds.
  inTransaction(db, () => {
    const { items } = listRows(db, 'decoys', entityUuid, { limit: 1, after: null });
    if (items.length > 0) return;
    for (const [table, list] of Object.entries(seedRows(entityUuid))) {
      for (const row of list) insertRow(db, table as Table, entityUuid, row);
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
    exportReport: (entityUuid) => exportReport(context, entityUuid),
    seed: (entityUuid) => seed(context, entityUuid),
  };
}
