/** Answers to requests that are refused for reasons other than their credential. */

interface Refusal {
  /** The status phrase, which `about:blank` requires as the title (RFC 9457 §4.2.1). */
  readonly title: string;
  readonly detail: string;
}

type RefusalStatus = 400 | 404 | 413;

const REFUSALS: Readonly<Record<RefusalStatus, Refusal>> = {
  400: { title: 'Bad Request', detail: 'Send one JSON-RPC message, or a batch of at most 100.' },
  404: { title: 'Not Found', detail: 'There is no such session; start a new one.' },
  413: { title: 'Content Too Large', detail: 'The body is too large.' },
};

/** Makes the answer. The request carried a credential, so no cache may store it. */
export function createRefusal(status: RefusalStatus): Response {
  const { title, detail } = REFUSALS[status];
  const problem = { type: 'about:blank', title, status, detail };
  const headers = { 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' };
  return new Response(JSON.stringify(problem), { status, headers });
}
