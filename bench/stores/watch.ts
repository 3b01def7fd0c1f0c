/** A client whose statements are noted, whatever driver it is of. */

export interface Log {
  /** Milliseconds until the answer, for each statement. */
  readonly times: number[];
  /** With what the first hundred were sent: more would fill the heap. */
  readonly sent: (readonly unknown[])[];
}

export const newLog = (): Log => ({ times: [], sent: [] });

/** The methods that send something, and those whose answer has such methods. */
const SENDING = new Set(['query', 'execute', 'sendCommand', 'all', 'get', 'run']);
const LENDING = new Set(['connect', 'getConnection', 'prepare']);

type Method = (...args: readonly unknown[]) => unknown;

function noted(method: Method, args: readonly unknown[], log: Log): unknown {
  const start = performance.now();
  if (log.sent.length < 100) log.sent.push(args);
  function note(): void {
    log.times.push(performance.now() - start);
  }
  const answer = method(...args);
  if (answer instanceof Promise) return answer.finally(note);
  note();
  return answer;
}

function lent(answer: unknown, log: Log): unknown {
  if (answer instanceof Promise) return answer.then((client: object) => watch(client, log));
  return typeof answer === 'object' && answer !== null ? watch(answer, log) : answer;
}

/** The same client; `log` gets what it sends. */
export function watch<Client extends object>(client: Client, log: Log): Client {
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const method = (value as Method).bind(target);
      if (SENDING.has(String(name))) return (...args: unknown[]) => noted(method, args, log);
      if (LENDING.has(String(name))) return (...args: unknown[]) => lent(method(...args), log);
      return method;
    },
  });
}
