/** Turns errors into messages and exit codes, without revealing a secret. */
import { causeOf, isAccessError, isInputError, isStoreError } from '../../core/errors.js';
import { CommandError, EXIT } from './command-error.js';

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
  const isTyped = isInputError(error) || (error instanceof TypeError && AUTHORITY.test(message));
  if (isTyped) return { exit: EXIT.usage, code: 'usage', message };
  return { exit: EXIT.fault, code: 'fault', message };
}

const AUTHORITY = /^authority\./;

const LIFETIME = " The keyring's maxLifetimeMs allows no such life: write an earlier --expires.";

function messageOf(error: unknown): string {
  if (isStoreError(error)) return `${error.message}${hintOf(causeOf(error))}`;
  if (!isAccessError(error)) return textOf(error);
  const excess = error.excess === undefined ? '' : ` Too much: ${error.excess.join(' ')}.`;
  const hint = error.reason === 'lifetime_beyond_authority' ? LIFETIME : '';
  return `${error.message} (${error.reason})${excess}${hint}`;
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

/** Returns the text of anything thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Environment variables whose values may be secret. */
const SECRET_NAME = /PASS|SECRET|TOKEN|PEPPER|KEY|CREDENTIAL|URL|DSN|DATABASE|CONNECTION/i;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

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
