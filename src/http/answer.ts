/** Answers of the endpoints that wings mount. No cache may store any of them. */

const NO_STORE = { 'Cache-Control': 'no-store' };
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Answers with a body. */
export function answerJson(
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const all = { ...JSON_TYPE, ...NO_STORE, ...headers };
  return new Response(JSON.stringify(body), { status, headers: all });
}

/** Answers with headers alone. */
export function answerNothing(
  headers: Readonly<Record<string, string>> = {},
  status: 200 | 204 = 204,
): Response {
  return new Response(null, { status, headers: { ...NO_STORE, ...headers } });
}

/** Why a request is refused, for whoever sent it. */
export interface Problem {
  readonly status: number;
  /** The status phrase, which `about:blank` requires as the title (RFC 9457 §4.2.1). */
  readonly title: string;
  readonly detail: string;
  /** A code for programs, where a protocol has one. */
  readonly error?: string;
}

/** Answers with a problem document (RFC 9457). */
export function answerProblem(
  { status, title, detail, error }: Problem,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const problem = { type: 'about:blank', title, status, detail, error };
  return answerJson(status, problem, { 'Content-Type': 'application/problem+json', ...headers });
}
