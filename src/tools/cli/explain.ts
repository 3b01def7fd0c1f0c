/** Turns errors into messages and exit codes, without revealing a secret. */
import { causeOf, isAccessError, isInputError, isStoreError } from '../../core/errors.js';
import { CommandError, EXIT } from './command-error.js';
import { isOption, type OptionName } from './options.js';

/** An error as the command reports it. */
interface Failure {
  readonly exit: number;
  /** `usage`, `config`, `fault` and so on, or the code of an `AccessError`. */
  readonly code: string;
  readonly message: string;
}

/** Explains an error to the person who typed the command. */
export function explain(error: unknown): Failure {
  // Our own text, which may name files. Anything it quotes is already masked.
  if (error instanceof CommandError) {
    return { exit: error.exit, code: error.kind, message: error.message };
  }
  const message = withoutSecrets(messageOf(error));
  if (isAccessError(error)) return { exit: EXIT.refused, code: error.code, message };
  if (isStoreError(error)) return { exit: EXIT.store, code: 'store', message };
  // The authority comes from the command line alone.
  const isOfAuthority = error instanceof TypeError && AUTHORITY.test(textOf(error));
  const isTyped = isInputError(error) || isOfAuthority;
  if (isTyped) return { exit: EXIT.usage, code: 'usage', message };
  return { exit: EXIT.fault, code: 'fault', message };
}

const AUTHORITY = /^authority\./;

function messageOf(error: unknown): string {
  if (isStoreError(error)) {
    const cause = causeOf(error);
    // `causeOf` is for code that catches the error.
    const message = error.message.replace(/: see causeOf$/, '');
    return `${message}${hintOf(cause)}${adviceOn(cause)}`;
  }
  if (!isAccessError(error)) return withOption(textOf(error));
  if (error.reason === 'lifetime_beyond_authority') {
    return `${error.message.replace('expiresAt', '--expires')} (${error.reason})`;
  }
  const isWider = error.reason.endsWith('_beyond_predecessor');
  const message = isWider ? 'A rotation cannot add rights. Issue a new key.' : error.message;
  const excess = error.excess === undefined ? '' : ` Not allowed: ${error.excess.join(' ')}.`;
  return `${message} (${error.reason})${excess}`;
}

/**
 * Returns the code of a driver's error, or the text if it is keyscope's own. Other texts may quote
 * rows.
 */
export function hintOf(cause: unknown): string {
  const { code, message } = Object(cause) as {
    readonly code?: unknown;
    readonly message?: unknown;
  };
  if (typeof message === 'string' && message.startsWith('keyscope: ')) return ` (${message})`;
  return typeof code === 'string' && /^[A-Z0-9_]{2,40}$/.test(code) ? ` (${code})` : '';
}

/** By the code of a driver's error: what is wrong with the address of the database. */
const OUTAGES: ReadonlyMap<unknown, string> = new Map([
  ['ECONNREFUSED', 'No database listens at this address'],
  ['ENOTFOUND', 'The host of the database is unknown'],
  ['EAI_AGAIN', 'The host of the database is unknown'],
  ['ETIMEDOUT', 'The database does not answer'],
  ['ERR_INVALID_URL', 'The address of the database is not a URL'],
  ['28P01', 'The database rejects the user or password'],
  ['28000', 'The database rejects the user or password'],
  ['ER_ACCESS_DENIED_ERROR', 'The database rejects the user or password'],
  ['3D000', 'The server has no database of this name'],
  ['ER_BAD_DB_ERROR', 'The server has no database of this name'],
]);

/**
 * A right that a database user lacks: only the words of the server's message that name the right,
 * which PostgreSQL does not, and the table or schema.
 */
const DENIED =
  /^(?:permission|([A-Z, ]+) command) denied .*for (table|schema) (?:`[^`]+`\.)?\W?([\w-]+)/;

function missingRight(message: unknown): string {
  const [, right = 'a right', kind, name] = DENIED.exec(String(message)) ?? [];
  if (name === undefined) return '';
  const where = 'See “Rights in the database” in docs/operations.md';
  return `. The database user lacks ${right} on ${kind} ${withoutSecrets(name)}. ${where}.`;
}

/** Returns how to fix a connection or a right, after a full stop; empty for any other error. */
export function adviceOn(cause: unknown): string {
  const { code, message } = Object(cause) as {
    readonly code?: unknown;
    readonly message?: unknown;
  };
  const problem = OUTAGES.get(code);
  if (problem === undefined) return missingRight(message);
  const { DATABASE_URL = '' } = process.env;
  const place =
    DATABASE_URL !== '' ? 'DATABASE_URL' : 'the address in your config (DATABASE_URL is not set)';
  return `. ${problem}. Check ${place}.`;
}

/** The options behind the fields that errors name, where the two differ. */
const OPTION_OF: ReadonlyMap<string, OptionName> = new Map([
  ['accessibleEntities', 'entities'],
  ['authority.actor', 'actor'],
  ['authority.entities', 'entities'],
  ['authority.entityId', 'entity'],
  ['events', 'event'],
  ['expiresAt', 'expires'],
  ['overlapMs', 'overlap'],
  ['ownerId', 'owner-id'],
  ['projectId', 'project-id'],
  ['repositoryId', 'repository-id'],
  ['serviceAccount', 'service-account'],
  ['sources', 'source'],
  ['trust.claims', 'claim'],
]);

/** Names the option in place of the field at the start of a message. */
export function withOption(message: string): string {
  const [, field = '', rest = ''] = /^([A-Za-z.]+)(:.*)$/s.exec(message) ?? [];
  const option = OPTION_OF.get(field) ?? field;
  return isOption(option) ? `--${option}${rest}` : message;
}

/** Returns the text of anything thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Environment variables whose values may be secret. */
const SECRET_NAME = /PASS|SECRET|TOKEN|PEPPER|KEY|CREDENTIAL|URL|DSN|DATABASE|CONNECTION/i;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Masks possible secrets in the error text of other code: values of secret environment variables,
 * credentials before the `@` of an address, and long runs of letters and digits, which could be
 * keys, digests or peppers. Returns it on one line.
 */
export function withoutSecrets(text: string): string {
  let masked = text;
  for (const [name, value = ''] of Object.entries(process.env)) {
    if (SECRET_NAME.test(name) && value.length >= 8) masked = masked.replaceAll(value, '[masked]');
  }
  return masked
    .replace(/:\/\/[^\s/]*@/g, '://[masked]@')
    .replace(/\b(password|secret|pepper|token)(["']?\s*[=:]\s*["']?)[^\s"',;)]+/gi, '$1$2[masked]')
    .replace(/[0-9A-Za-z+=_-]{20,}/g, (run) => (isPlain(run) ? run : '[masked]'))
    .replace(/\s+/g, ' ');
}

/** Names of errors and options have no digits, and ids are not secret. */
function isPlain(run: string): boolean {
  return UUID.test(run) || !/\d/.test(run) || !/[a-z]/i.test(run);
}
