/** Answers as data, including problem documents (RFC 9457), which any framework can send. */
import { STATUS_CODES } from 'node:http';
import { causeOf, isStoreError } from 'keyscope';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Makes a problem document. Caches must not store it, because the request may have carried a
 * credential, even on a path without a guard.
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

/** Thrown when a request cannot be served. The client gets `answer`. */
export class Refusal extends Error {
  readonly answer: Answer;

  constructor(status: number, detail: string) {
    super(detail);
    this.answer = problem(status, detail);
  }
}

/** The maximum length of a body in bytes, for all operations and the exchange of a key. */
export const BODY_LIMIT = 65_536;

/** The messages for what frameworks refuse, by status. */
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
 * Describes an error in one line, for a log or a terminal. For a broken store it adds the driver's
 * message, which says what to fix; other fields of the driver's error may quote rows. Line breaks
 * are escaped, so that input which a driver quotes cannot forge a log entry.
 */
export function explain(error: unknown): string {
  const message = reasonOf(error);
  const reason = isStoreError(error) ? reasonOf(causeOf(error)) : '';
  const text = reason === '' ? message : `${message}: ${reason}`;
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, escaped);
}

/** Returns the message; for some drivers' errors, which have none, the code. */
function reasonOf(error: unknown): string {
  const reason = fieldOf(error, 'message') || fieldOf(error, 'code');
  return reason ? String(reason) : '';
}

/** Reads a field of any value, because drivers may throw values that are not errors. */
function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Logs an error of the service. A `StoreError` does not show its cause, so this adds it. */
export const reportError: Report = (error) => {
  console.error(isStoreError(error) ? explain(error) : error);
};

/**
 * Answers an error from a framework. Errors with one of the statuses above are the client's fault.
 * All others go to `report`, and the client learns nothing about them.
 */
export function failure(error: unknown, report: Report = reportError): Answer {
  if (error instanceof Refusal) return error.answer;
  const status = fieldOf(error, 'statusCode') ?? fieldOf(error, 'status');
  if (isUnreadable(status)) return problem(status, UNREADABLE[status]);
  report(error);
  return problem(500, 'Something went wrong.');
}

/** Makes one of the refusals above, with the same words for all frameworks. */
export function refused(status: Unreadable): Refusal {
  return new Refusal(status, UNREADABLE[status]);
}
