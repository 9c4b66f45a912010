import type { QueryClient } from '@tanstack/react-query';
import { calledWorkflowsRead } from '../client/called-workflows.ts';
import { createRole, rolesRead } from '../client/people.ts';
import { type Named, referenceRead } from '../client/references.ts';
import type { Schemas } from '../client/types.ts';
import type { ChosenRoles } from './role-choice.tsx';

type AssetPermission = Schemas['AssetPermission'];

const MAX_NAME = 100;

/** The ids of the chosen roles, with those for single workflows and pages: of these, roles that are there are taken, and others made. */
export async function rolesFor(
  queries: QueryClient,
  tenantID: string,
  { roleIDs, toRun, toOpen }: ChosenRoles,
): Promise<string[]> {
  const all = new Set(roleIDs);
  for (const id of toRun) {
    const workflow = await queries.fetchQuery(referenceRead(tenantID, 'workflow', id));
    all.add(await roleToRun(queries, tenantID, workflow));
  }
  for (const id of toOpen) {
    const page = await queries.fetchQuery(referenceRead(tenantID, 'appPage', id));
    const assetPermissions = [{ resourceType: 'appPage', resourceID: id, action: 'read' }];
    const roleDescription = 'Opens this page, and nothing else.';
    all.add(await roleOf(queries, tenantID, { wanted: `Use ${page.title}`, roleDescription, assetPermissions }));
  }
  return [...all];
}

/** A role by which this workflow may be run and its runs be seen, and nothing else. */
async function roleToRun(queries: QueryClient, tenantID: string, workflow: Named): Promise<string> {
  // Workflows that it starts as steps run by the same permission.
  const called = await queries.fetchQuery(calledWorkflowsRead(tenantID, [workflow.id]));
  const assetPermissions = [workflow, ...called].flatMap(({ id: resourceID }) =>
    ['read', 'execute'].map((action) => ({ resourceType: 'workflow', resourceID, action })),
  );
  const roleDescription = 'Runs this workflow, sees its runs and answers their questions.';
  return roleOf(queries, tenantID, { wanted: `Run ${workflow.title}`, roleDescription, assetPermissions });
}

interface Wanted {
  wanted: string;
  roleDescription: string;
  assetPermissions: AssetPermission[];
}

/** The role with these permissions alone, which is made where there is none. */
async function roleOf(
  queries: QueryClient,
  tenantID: string,
  { wanted, roleDescription, assetPermissions }: Wanted,
): Promise<string> {
  const roles = await queries.fetchQuery({ ...rolesRead(tenantID), staleTime: 0 });
  const same = roles.find(
    (role) => role.rolePermissions.length === 0 && keyOf(role.assetPermissions) === keyOf(assetPermissions),
  );
  if (same) return same.roleID;
  const taken = new Set(roles.map(({ roleName }) => roleName));
  const roleID = await createRole(tenantID, {
    roleName: freeName(wanted, taken),
    roleDescription,
    rolePermissions: [],
    assetPermissions,
  });
  await queries.invalidateQueries({ queryKey: ['roles', tenantID] });
  return roleID;
}

function keyOf(permissions: readonly AssetPermission[]): string {
  return permissions
    .map((one) => `${one.resourceType} ${one.resourceID} ${one.action}`)
    .sort()
    .join();
}

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  const name = wanted.slice(0, MAX_NAME).toWellFormed();
  if (!taken.has(name)) return name;
  for (let n = 2; ; n += 1) {
    const numbered = `${name.slice(0, MAX_NAME - 5).toWellFormed()} (${n})`;
    if (!taken.has(numbered)) return numbered;
  }
}
