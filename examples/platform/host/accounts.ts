/** Who may sign in to the console: users of the platform who have a password. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { GrantAuthority } from 'keyscope';
import type { Domain } from '../service/domain.ts';
import { Conflict } from '../service/domain.ts';
import type { User } from '../service/records.ts';
import type { PasswordCost, PasswordRow } from './passwords.ts';
import { HASHING, hashPassword, openPasswords, PASSWORD_COST } from './passwords.ts';
import { createTurns, type Turn } from './turns.ts';

/** A user of one organization. */
export interface Account {
  readonly entityUuid: string;
  readonly userId: string;
}

/** One who has given their password. */
export interface SignedIn extends Account {
  /** Which password it was, because a session ends with the password that began it. */
  readonly version: string;
}

export interface Member {
  readonly user: User;
  readonly entityUuid: string;
  /** On whose behalf this member manages keys; `null` if the role may only look. */
  readonly authority: GrantAuthority | null;
}

/** What is known of an attempt to sign in, besides the credentials. */
export interface Attempt extends Turn {
  /** Called when it is this one's turn. If it throws, no work is done. */
  readonly begin?: (() => void) | undefined;
}

export interface Accounts {
  /**
   * Lets a user sign in with their current email, and ends their sessions. Throws if another user
   * has it.
   */
  setPassword(account: Account, password: string): Promise<void>;
  /**
   * Whose credentials these are; `null`, after the same work, if they are nobody's or belong to a
   * deleted user. Rejects with `Busy`, and has done no work, if too many sign in at once.
   */
  signIn(email: string, password: string, attempt?: Attempt): Promise<SignedIn | null>;
  /** The user's current state; `null` once they are deleted, or have another password. */
  find(account: SignedIn): Member | null;
  /** Whether anybody can sign in. */
  any(): boolean;
}

export interface AccountsOptions {
  /**
   * For tests, which sign in often; a service leaves it out. It is not stored with a password, so
   * whoever changes it has to set all of them again.
   */
  readonly passwordCost?: PasswordCost | undefined;
}

/**
 * What a role may grant, and so what its form offers. The keyring enforces it whatever the form
 * says. Ending a key is not granting: whoever manages keys may end any of their organization.
 */
const GRANTABLE: Readonly<Record<User['role'], GrantAuthority['scopes'] | null>> = {
  admin: 'all',
  analyst: ['threats:*', 'interactions:*', 'decoys:*', 'canaries:*', 'reports:*'],
  viewer: null,
};

function authorityOf({ role, email }: User, entityUuid: string): GrantAuthority | null {
  const scopes = GRANTABLE[role];
  if (scopes === null) return null;
  return { entityUuid, scopes, actor: email };
}

/** A salt is made anew with each password, so it tells passwords apart. */
const versionOf = ({ salt }: PasswordRow): string => Buffer.from(salt).toString('hex');

export function createAccounts(
  db: DatabaseSync,
  domain: Domain,
  { passwordCost = PASSWORD_COST }: AccountsOptions = {},
): Accounts {
  const passwords = openPasswords(db);
  const inTurn = createTurns(HASHING);

  function hash(password: string, salt: Uint8Array, attempt: Attempt = {}): Promise<Uint8Array> {
    const work = async (): Promise<Uint8Array> => {
      attempt.begin?.();
      return hashPassword(password, salt, passwordCost);
    };
    return inTurn(work, attempt);
  }

  const nobody = { salt: randomBytes(16), hash: randomBytes(32) };

  function find({ entityUuid, userId, version }: SignedIn): Member | null {
    const user = domain.readUser(entityUuid, userId);
    const row = passwords.findByUser(entityUuid, userId);
    if (!user || !row || versionOf(row) !== version) return null;
    return { user, entityUuid, authority: authorityOf(user, entityUuid) };
  }

  async function setPassword({ entityUuid, userId }: Account, password: string): Promise<void> {
    const user = domain.readUser(entityUuid, userId);
    if (user === null) throw new TypeError('account: there is no such user');
    const { email } = user;
    const salt = randomBytes(16);
    const hashed = await hash(password, salt, { isFirst: true });
    const other = passwords.findByEmail(email);
    // If that user is deleted, the password is all that is left.
    if (other && other.user_id !== userId && domain.readUser(other.entity_uuid, other.user_id))
      throw new Conflict('Another user signs in with this email.');
    passwords.replace({ entity_uuid: entityUuid, user_id: userId, email, salt, hash: hashed });
  }

  async function signIn(
    email: string,
    password: string,
    attempt?: Attempt,
  ): Promise<SignedIn | null> {
    const row = passwords.findByEmail(email);
    // An unknown address takes as long as a member's, so the time does not reveal who is one.
    const { salt, hash: stored } = row ?? nobody;
    const given = await hash(password, salt, attempt);
    const isRight = timingSafeEqual(given, stored);
    if (!row || !isRight) return null;
    const account = { entityUuid: row.entity_uuid, userId: row.user_id, version: versionOf(row) };
    if (find(account) === null) return null;
    return account;
  }

  return { setPassword, signIn, find, any: () => !passwords.isEmpty() };
}
