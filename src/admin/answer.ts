/** Answers to requests that were carried out. No cache may store any of them. */

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
export function answerNothing(headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status: 204, headers: { ...NO_STORE, ...headers } });
}
