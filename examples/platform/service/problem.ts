/** Answers as data, including problem documents (RFC 9457): any framework can send them. */
import { STATUS_CODES } from 'node:http';
import { causeOf, isStoreError } from 'keyscope';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Never stored: it may answer a request that carried a credential, even on a path without a guard.
 */
export function problem(
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      ...headers,
    },
    body: JSON.stringify({
      type: 'about:blank',
      title: STATUS_CODES[status] ?? 'Error',
      status,
      detail,
    }),
  };
}

/** Thrown when a request cannot be served as it is; `answer` is what the client gets. */
export class Refusal extends Error {
  readonly answer: Answer;

  constructor(status: number, detail: string) {
    super(detail);
    this.answer = problem(status, detail);
  }
}

/** In bytes. No operation accepts more, nor does the exchange of a key. */
export const BODY_LIMIT = 65_536;

/** What frameworks refuse themselves, and how it is said here. */
const UNREADABLE = {
  400: 'The request could not be read.',
  413: `The body is too large: at most ${BODY_LIMIT / 1024} KiB.`,
  415: 'Send the body as "Content-Type: application/json", in UTF-8 and not compressed.',
} as const;

type Unreadable = keyof typeof UNREADABLE;

function isUnreadable(status: unknown): status is Unreadable {
  return typeof status === 'number' && Object.hasOwn(UNREADABLE, status);
}

export type Report = (error: unknown) => void;

/**
 * What went wrong, for a log or a terminal. For a broken store it is the driver's message, which
 * says what to fix; other fields of its error may quote rows. It is one line: if a driver quotes
 * what a client sent, a line break in that would begin an entry of the client's own making.
 */
export function explain(error: unknown): string {
  const message = reasonOf(error);
  const reason = isStoreError(error) ? reasonOf(causeOf(error)) : '';
  const text = reason === '' ? message : `${message}: ${reason}`;
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, escaped);
}

/** A message, or the code of an error of a driver that gives no more. */
function reasonOf(error: unknown): string {
  const reason = fieldOf(error, 'message') || fieldOf(error, 'code');
  return reason ? String(reason) : '';
}

/** A field of what may be anything at all: errors of drivers need not be errors. */
function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Where the service's own errors go, unless it says otherwise. A `StoreError` by itself does not
 * show its cause.
 */
export const reportError: Report = (error) => {
  console.error(isStoreError(error) ? explain(error) : error);
};

/**
 * The answer to an error that came out of a framework: those with one of the statuses above are the
 * client's, all others the service's own. `report` sees the latter, and the client nothing of them.
 */
export function failure(error: unknown, report: Report = reportError): Answer {
  if (error instanceof Refusal) return error.answer;
  const status = fieldOf(error, 'statusCode') ?? fieldOf(error, 'status');
  if (isUnreadable(status)) return problem(status, UNREADABLE[status]);
  report(error);
  return problem(500, 'Something went wrong.');
}

/** These read alike, whoever noticed. */
export function refused(status: Unreadable): Refusal {
  return new Refusal(status, UNREADABLE[status]);
}
