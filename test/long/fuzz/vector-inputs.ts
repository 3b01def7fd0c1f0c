/** The vectors as seeds. */
import type { Json } from '../../support/vectors.ts';
import { concat, readVectors } from '../../support/vectors.ts';

type Parts = Parameters<typeof concat>[0];

interface InputVector {
  readonly input?: Json;
  readonly list?: Json;
  readonly text?: Json;
  /** The parts of a long input. */
  readonly generate?: Parts;
  readonly generateText?: Parts;
}

/** The expanded inputs of a table of vectors. */
export function inputsOf(file: string, table = 'tests'): readonly unknown[] {
  const vectors = readVectors<Readonly<Record<string, readonly InputVector[]>>>(file)[table];
  if (vectors === undefined) throw new Error(`${file} has no table ${table}`);
  return vectors.map(({ input, list, text, generate, generateText }) => {
    const parts = generate ?? generateText;
    return parts === undefined ? (input ?? list ?? text) : concat(parts);
  });
}
