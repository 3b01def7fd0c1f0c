/** A request and its answer, as the clients of the contract send and read them. */

/** A header line: its name and its value. */
export type HeaderLine = readonly [name: string, value: string];

/** A request to the adapter. */
export interface AdapterRequest {
  readonly method: 'GET' | 'HEAD';
  /** With its query, if it has one. */
  readonly path: string;
  /** Sent as they are, where the transport keeps lines apart. */
  readonly lines: readonly HeaderLine[];
  /** Aborts the request. */
  readonly signal: AbortSignal;
}

/** What came back. */
export interface Answer {
  readonly status: number;
  /** Names are in lower case, one entry per line, sorted. */
  readonly headers: readonly HeaderLine[];
  readonly body: string;
}

/** Sends a request over HTTP, or to a function. */
export type Transport = (request: AdapterRequest) => Promise<Answer>;

/** The line that a client with a key sends. */
export function bearer(key: string): HeaderLine {
  return ['Authorization', `Bearer ${key}`];
}

/** The values of all header lines of this name. */
export function headerValues(answer: Answer, name: string): readonly string[] {
  const lines = answer.headers.filter((line) => line[0] === name.toLowerCase());
  return lines.map(([, value]) => value);
}

/** Sorts lines by name; lines of the same name stay in their order. */
export function sortLines(lines: readonly HeaderLine[]): readonly HeaderLine[] {
  return [...lines].sort(([one], [other]) => {
    if (one === other) return 0;
    return one < other ? -1 : 1;
  });
}
