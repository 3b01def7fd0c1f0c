/**
 * Passwords of the console's users: how they are hashed, and the table that keeps the hashes. The
 * minimum that the console needs: a service has its own accounts, or uses a library for them.
 */
import { scrypt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { DatabaseSync } from 'node:sqlite';
import type { TurnsOptions } from './turns.ts';

/** How much work it is to hash a password, as `scrypt` of `node:crypto` names it. */
export interface PasswordCost {
  readonly cost: number;
  readonly blockSize: number;
  readonly parallelization: number;
}

/**
 * For passwords that people choose, so it is slow on purpose (OWASP: 32 MiB, three times). Keys
 * need none of this.
 */
export const PASSWORD_COST: PasswordCost = { cost: 2 ** 15, blockSize: 8, parallelization: 3 };

/**
 * How many passwords are hashed at a time. Node hashes them in the few threads in which it checks
 * the signatures of tokens, too, and on the cores that answer all other requests: a flood of
 * sign-ins must leave most of both alone.
 */
export const HASHING: TurnsOptions = {
  atOnce: availableParallelism() < 4 ? 1 : 2,
  waiting: 8,
  patienceMs: 2_000,
};

const MAX_MEMORY = 2 ** 26;
const HASH_BYTES = 32;

export function hashPassword(
  password: string,
  salt: Uint8Array,
  cost: PasswordCost,
): Promise<Uint8Array> {
  const options = { ...cost, maxmem: MAX_MEMORY };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, options, (error, hash) => {
      if (error) reject(error);
      else resolve(hash);
    });
  });
}

export interface PasswordRow {
  readonly entity_uuid: string;
  readonly user_id: string;
  readonly email: string;
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
}

export interface PasswordTable {
  findByUser(entityUuid: string, userId: string): PasswordRow | undefined;
  findByEmail(email: string): PasswordRow | undefined;
  /** Writes the row, in the place of whatever its user or its email had. */
  replace(row: PasswordRow): void;
  isEmpty(): boolean;
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS passwords (
    entity_uuid TEXT NOT NULL,
    user_id TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE,
    salt BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (entity_uuid, user_id)
  ) STRICT`;

/** The table of a database, which is created if it is missing. */
export function openPasswords(db: DatabaseSync): PasswordTable {
  db.exec(TABLE);
  return {
    findByUser(entityUuid, userId) {
      const query = db.prepare('SELECT * FROM passwords WHERE entity_uuid = ? AND user_id = ?');
      return query.get(entityUuid, userId) as PasswordRow | undefined;
    },
    findByEmail(email) {
      const query = db.prepare('SELECT * FROM passwords WHERE email = ?');
      return query.get(email) as PasswordRow | undefined;
    },
    replace({ entity_uuid, user_id, email, salt, hash }) {
      const others = 'DELETE FROM passwords WHERE email = ? OR (entity_uuid = ? AND user_id = ?)';
      db.prepare(others).run(email, entity_uuid, user_id);
      const insert = 'INSERT INTO passwords VALUES (?, ?, ?, ?, ?)';
      db.prepare(insert).run(entity_uuid, user_id, email, salt, hash);
    },
    isEmpty() {
      return db.prepare('SELECT 1 FROM passwords LIMIT 1').get() === undefined;
    },
  };
}
