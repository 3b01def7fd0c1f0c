/** Recognises what a caller passes by what it can do: drivers, caches and SDKs have no brand. */

/** Whether `value` has all of these methods, its own or inherited. */
export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  const object = value as Readonly<Record<string, unknown>> | null | undefined;
  return names.every((name) => typeof object?.[name] === 'function');
}
