/** Reads the exports of the package's entries, and their declarations. */
import ts from 'typescript';
import { packageEntries } from './package-entries.ts';
import { type Source, sourceOf, targetOf } from './source.ts';

/** `./stores/redis` and `src/stores/redis/index.ts`. */
export interface Entry {
  readonly name: string;
  readonly source: Source;
}

export function readEntries(): readonly Entry[] {
  return packageEntries().map(({ name, source }) => ({ name, source: sourceOf(source) }));
}

export interface Export {
  readonly name: string;
  /** The name in the file that declares it. */
  readonly original: string;
  readonly from: string;
  readonly kind: 'type' | 'value';
}

/**
 * Returns the explicit re-exports of an index. The layout test ensures that it contains nothing
 * else.
 */
export function exportsOf(index: Source): readonly Export[] {
  const found: Export[] = [];
  for (const statement of index.tree.statements) {
    if (!ts.isExportDeclaration(statement)) continue;
    const { exportClause, moduleSpecifier, isTypeOnly } = statement;
    if (exportClause === undefined || !ts.isNamedExports(exportClause)) continue;
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) continue;
    for (const element of exportClause.elements) {
      found.push({
        name: element.name.text,
        original: (element.propertyName ?? element.name).text,
        from: targetOf(index, moduleSpecifier.text),
        kind: isTypeOnly || element.isTypeOnly ? 'type' : 'value',
      });
    }
  }
  return found;
}

/** A declaration and its file. */
export interface Declared {
  readonly source: Source;
  readonly node: ts.Node;
}

/** Returns the names that a statement declares, each with its declaration. */
export function namesOf(statement: ts.Statement): readonly (readonly [string, ts.Node])[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map((each) => [each.name.getText(), each]);
  }
  const named =
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement);
  return named && statement.name !== undefined ? [[statement.name.text, statement]] : [];
}

/** Returns the origin of a name that a file imports or re-exports, or null. */
function originOf(source: Source, name: string): { from: string; original: string } | null {
  for (const statement of source.tree.statements) {
    const imported = ts.isImportDeclaration(statement)
      ? statement.importClause?.namedBindings
      : null;
    const exported = ts.isExportDeclaration(statement) ? statement.exportClause : null;
    const clause = imported ?? exported;
    if (!clause || !(ts.isNamedImports(clause) || ts.isNamedExports(clause))) continue;
    const { moduleSpecifier } = statement as ts.ImportDeclaration;
    if (!moduleSpecifier || !ts.isStringLiteral(moduleSpecifier)) continue;
    const element = clause.elements.find((each) => each.name.text === name);
    if (element === undefined || !moduleSpecifier.text.startsWith('.')) continue;
    const original = (element.propertyName ?? element.name).text;
    return { from: targetOf(source, moduleSpecifier.text), original };
  }
  return null;
}

/** Returns the declarations of a name that a file has or imports, several for overloads. */
export function declarationsOf(source: Source, name: string): readonly Declared[] {
  const own: Declared[] = [];
  for (const statement of source.tree.statements) {
    for (const [declared, node] of namesOf(statement)) {
      if (declared === name) own.push({ source, node });
    }
  }
  if (own.length > 0) return own;
  const origin = originOf(source, name);
  return origin === null ? [] : declarationsOf(sourceOf(origin.from), origin.original);
}

const COMPUTED =
  /^(?:ReturnType|Parameters|InstanceType|ConstructorParameters|z\.(?:infer|input|output))$/;

/** Checks for a body, a default or a private member, which users of a declaration do not see. */
function isInside(node: ts.Node): boolean {
  if (ts.isBlock(node)) return true;
  if (ts.isArrowFunction(node)) return false;
  if (ts.isClassElement(node) && node.name !== undefined && ts.isPrivateIdentifier(node.name)) {
    return true;
  }
  const { parent } = node;
  if (ts.isArrowFunction(parent)) return parent.body === node;
  const initialized =
    ts.isVariableDeclaration(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isParameter(parent) ||
    ts.isBindingElement(parent);
  return initialized && parent.initializer === node;
}

/** Visits the part of a declaration that its users see: types and signatures. */
function visitSurface(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => {
    if (!isInside(child)) visitSurface(child, see);
  });
}

/** Returns the name in a type reference, including `extends` of an interface, or null. */
function referenceOf(node: ts.Node): string | null {
  if (ts.isTypeReferenceNode(node)) return node.typeName.getText();
  return ts.isExpressionWithTypeArguments(node) ? node.expression.getText() : null;
}

/** Returns the project's own types that a declaration names. */
export function namedBy({ source, node }: Declared): readonly Declared[] {
  const found: Declared[] = [];
  visitSurface(node, (part) => {
    const name = referenceOf(part);
    if (name !== null) found.push(...declarationsOf(source, name));
  });
  return found;
}

function saysItsType({ type, initializer }: ts.VariableDeclaration): boolean {
  if (type !== undefined) return true;
  const isFunction = initializer !== undefined && ts.isArrowFunction(initializer);
  return isFunction && initializer.type !== undefined;
}

/**
 * Finds what a public declaration infers from an implementation: a `typeof` or a `ReturnType`, in
 * itself or in a project type that it names, and a constant or function without a type.
 */
export function inferredIn(declared: Declared, seen = new Set<object>()): readonly string[] {
  const { source, node } = declared;
  if (seen.has(node)) return [];
  seen.add(node);
  const found: string[] = [];
  if (ts.isVariableDeclaration(node) && !saysItsType(node)) {
    found.push(`${source.path}: ${node.name.getText()} has no written type`);
  }
  visitSurface(node, (part) => {
    if (ts.isTypeQueryNode(part)) found.push(`${source.path}: ${part.getText()}`);
    if (COMPUTED.test(referenceOf(part) ?? '')) found.push(`${source.path}: ${part.getText()}`);
  });
  for (const next of namedBy(declared)) found.push(...inferredIn(next, seen));
  return found;
}
