/** The requests and answers of the contract's clients. */

/** A header line. */
export type HeaderLine = readonly [name: string, value: string];

/** A request to the adapter. */
export interface AdapterRequest {
  readonly method: 'GET' | 'HEAD';
  /** Includes the query, if any. */
  readonly path: string;
  /** Sent unchanged if the transport keeps lines separate. */
  readonly lines: readonly HeaderLine[];
  /** Aborts the request. */
  readonly signal: AbortSignal;
}

/** The answer to a request. */
export interface Answer {
  readonly status: number;
  /** One entry per line, with the name in lower case, sorted. */
  readonly headers: readonly HeaderLine[];
  readonly body: string;
}

/** Sends a request over HTTP or to a function. */
export type Transport = (request: AdapterRequest) => Promise<Answer>;

/** The Authorization line of a key. */
export function bearer(key: string): HeaderLine {
  return ['Authorization', `Bearer ${key}`];
}

/** The values of all header lines of this name. */
export function headerValues(answer: Answer, name: string): readonly string[] {
  const lines = answer.headers.filter((line) => line[0] === name.toLowerCase());
  return lines.map(([, value]) => value);
}

/** Sorts lines by name. Lines with the same name keep their order. */
export function sortLines(lines: readonly HeaderLine[]): readonly HeaderLine[] {
  return [...lines].sort(([one], [other]) => {
    if (one === other) return 0;
    return one < other ? -1 : 1;
  });
}
