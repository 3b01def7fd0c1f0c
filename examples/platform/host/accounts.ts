/**
 * Who may sign in to the console: users of the platform who have a password. The minimum that the
 * page needs: a service has its own accounts, or uses a library for them.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Authority } from 'keyscope';
import type { Domain, User } from '../service/domain.ts';
import { Conflict } from '../service/domain.ts';

/** A user of one organization. */
export interface Account {
  readonly entityUuid: string;
  readonly userId: string;
}

/**
 * One who has given their password. `version`: which one, because a session ends with the password
 * that began it.
 */
export interface SignedIn extends Account {
  readonly version: string;
}

export interface Member {
  readonly user: User;
  readonly entityUuid: string;
  /** On whose behalf this member manages keys; `null` if the role may only look. */
  readonly authority: Authority | null;
}

export interface Accounts {
  /**
   * Lets a user sign in with their current email, and ends their sessions. Throws if another user
   * has it.
   */
  setPassword(account: Account, password: string): Promise<void>;
  /**
   * Whose credentials these are; `null`, after the same work, if they are nobody's or belong to a
   * deleted user.
   */
  signIn(email: string, password: string): Promise<SignedIn | null>;
  /** The user's current state; `null` once they are deleted, or have another password. */
  find(account: SignedIn): Member | null;
  /** Whether anybody can sign in. */
  any(): boolean;
}

/**
 * What a role may grant, and so what its form offers. The keyring enforces it whatever the form
 * says. Ending a key is not granting: whoever manages keys may end any of their organization.
 */
const HANDS_OUT: Readonly<Record<User['role'], readonly string[] | null>> = {
  admin: ['*:*'],
  analyst: ['threats:*', 'interactions:*', 'decoys:*', 'canaries:*', 'reports:*'],
  viewer: null,
};

// For passwords that people choose, so it is slow on purpose (OWASP: 32 MiB, three times). Keys
// need none of this.
const COST = { N: 2 ** 15, r: 8, p: 3, maxmem: 2 ** 26 };

const hashPassword = (password: string, salt: Uint8Array): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, 32, COST, (error, hash) =>
      error ? reject(error) : resolve(hash),
    );
  });

interface Row {
  readonly entity_uuid: string;
  readonly user_id: string;
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
}

export function createAccounts(db: DatabaseSync, domain: Domain): Accounts {
  db.exec(`CREATE TABLE IF NOT EXISTS passwords (entity_uuid TEXT NOT NULL, user_id TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE, salt BLOB NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (entity_uuid, user_id)) STRICT`);
  const nobody = { salt: randomBytes(16), hash: randomBytes(32) };

  const versionOf = ({ salt }: Row) => Buffer.from(salt).toString('hex');
  const rowOf = ({ entityUuid, userId }: Account) =>
    db
      .prepare('SELECT * FROM passwords WHERE entity_uuid = ? AND user_id = ?')
      .get(entityUuid, userId) as Row | undefined;
  const rowFor = (email: string) =>
    db.prepare('SELECT * FROM passwords WHERE email = ?').get(email) as Row | undefined;

  function find(account: SignedIn): Member | null {
    const { entityUuid, userId, version } = account;
    const [user, row] = [domain.readUser(entityUuid, userId), rowOf(account)];
    if (!user || !row || versionOf(row) !== version) return null;
    const scopes = HANDS_OUT[user.role];
    return { user, entityUuid, authority: scopes && { entityUuid, scopes } };
  }

  async function setPassword({ entityUuid, userId }: Account, password: string): Promise<void> {
    const email = domain.readUser(entityUuid, userId)?.email;
    if (email === undefined) throw new TypeError('account: there is no such user');
    const salt = randomBytes(16);
    const hash = await hashPassword(password, salt);
    const other = rowFor(email);
    // If that user is deleted, the password is all that is left.
    if (other && other.user_id !== userId && domain.readUser(other.entity_uuid, other.user_id))
      throw new Conflict('Another user signs in with this email.');
    db.prepare('DELETE FROM passwords WHERE email = ? OR (entity_uuid = ? AND user_id = ?)').run(
      email,
      entityUuid,
      userId,
    );
    db.prepare('INSERT INTO passwords VALUES (?, ?, ?, ?, ?)').run(
      entityUuid,
      userId,
      email,
      salt,
      hash,
    );
  }

  async function signIn(email: string, password: string): Promise<SignedIn | null> {
    const row = rowFor(email);
    // An unknown address takes as long as a member's, so the time does not reveal who is one.
    const { salt, hash } = row ?? nobody;
    const right = timingSafeEqual(await hashPassword(password, salt), hash);
    if (!row || !right) return null;
    const account = { entityUuid: row.entity_uuid, userId: row.user_id, version: versionOf(row) };
    return find(account) && account;
  }

  const any = () => db.prepare('SELECT 1 FROM passwords LIMIT 1').get() !== undefined;

  return { setPassword, signIn, find, any };
}
