import { z } from 'zod';
import {
  type AssetPermission as AssetGrant,
  isActionOf,
  notAPermission,
  objectType,
  permissions,
  RolePermission,
} from '#shared/access/policy/permissions.ts';
import { quote } from '#shared/core/quote.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { ID } from '../../http/fields/id.ts';
import { explorerPage, pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { requireOne, Title } from '../../http/fields/text.ts';
import { exampleRepairedRole, exampleRole, exampleRoleCreate, exampleRoleUpdate } from './examples.ts';

export const RoleID = z.object({ roleID: idOf('role') });

const maxPermissions = 500;

/** A permission on one asset. Capitals in the type do not matter, as in the resource of a permission. */
const AssetPermission = z
  .object({ resourceType: z.string(), resourceID: ID, action: z.string() })
  .transform(({ resourceType, resourceID, action }, check): AssetGrant => {
    const type = objectType(resourceType);
    if (type && isActionOf(type, action)) return { resourceType: type, resourceID, action };
    const [path, message] = type
      ? ['action', `expected an action of ${type}, received ${quote(action)}`]
      : ['resourceType', `expected a type of resource such as workflow, received ${quote(resourceType)}`];
    check.addIssue({ code: 'custom', path: [path], message });
    return z.NEVER;
  })
  .meta({ id: 'AssetPermissionCreate' });

const ASSET = /^tenant:asset:([^:]+):([^:]+):([^:]+)$/;

/** `<resource>.<action>`, `<resource>.*`, `*`, or on one asset: `tenant:asset:<type>:<id>:<action>`. */
const PermissionText = z
  .string()
  .max(255)
  .transform((text, check): RolePermission | AssetGrant => {
    const [isAsset, resourceType, resourceID, action] = ASSET.exec(text) ?? [];
    const parsed = isAsset
      ? AssetPermission.safeParse({ resourceType, resourceID, action })
      : RolePermission.safeParse(text);
    if (parsed.success) return parsed.data;
    check.addIssue({ code: 'custom', message: notAPermission(text) });
    return z.NEVER;
  });

const RolePermissions = z.array(PermissionText).max(maxPermissions);

const settings = {
  roleName: Title.optional(),
  roleTitle: Title.optional().describe('Another name for `roleName`'),
  roleDescription: z.string().max(10_000).nullish(),
  assetPermissions: z.array(AssetPermission).max(maxPermissions).optional(),
  folderID: idOf('folder').nullish(),
  homePageID: idOf('appPage')
    .nullish()
    .describe('The app page in which members with the role begin, if they may read it'),
};

export const RoleCreate = z
  .object({ ...settings, rolePermissions: RolePermissions })
  .transform((body, check) => ({ ...withoutAliases(body), roleName: requireOne(check, 'roleName', named(body)) }))
  .meta({ id: 'RoleCreate', examples: [exampleRoleCreate] });

/** Absent fields stay as they are. */
export const RoleUpdate = z
  .object({ ...settings, rolePermissions: RolePermissions.optional() })
  .transform((body) => ({ ...withoutAliases(body), roleName: named(body).find((name) => name !== undefined) }))
  .meta({ id: 'RoleUpdate', examples: [exampleRoleUpdate] });

export const RoleList = z.object({
  ...pageQuery(explorerPage),
  search: z.string().max(255).optional(),
  folderID: idOf('folder').optional(),
});

/** Roles of every tenant; `tenantID` narrows the list to one. */
export const AllRolesList = z.object({
  ...pageQuery(standardPage),
  search: z.string().max(255).optional(),
  tenantID: idOf('tenant').optional(),
});

const HeldAssetPermission = z
  .object({ resourceType: z.string(), resourceID: z.uuid(), action: z.string() })
  .meta({ id: 'AssetPermission', description: 'One action on one object' });

export const Role = z
  .object({
    id: z.uuid(),
    roleID: z.uuid(),
    tenantID: z.uuid().nullable().describe('Null: a role of the whole deployment'),
    roleName: z.string(),
    roleDescription: z.string().nullable(),
    rolePermissions: z.array(z.string()),
    assetPermissions: z.array(HeldAssetPermission),
    isGlobal: z.boolean(),
    folderID: z.uuid().nullable(),
    homePageID: z.uuid().nullable(),
    creatorID: z.uuid().nullable(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Role', examples: [exampleRole] });

export const Roles = z.object({ roles: z.array(Role), ...pageFields }).meta({ id: 'RolePage' });

export const RepairedRole = z
  .object({
    roleID: z.string(),
    roleName: z.string().nullable().describe('Null: the role does not exist, only rules that name it'),
    added: z.int(),
    removed: z.int(),
  })
  .meta({ id: 'RepairedRole', examples: [exampleRepairedRole] });

export const HeldQuery = z.object({
  object: z
    .string()
    .transform((text, check) => {
      const [type, id] = text.split(/:(.*)/s);
      const resource = objectType(type ?? '');
      if (resource && (id === '*' || ID.safeParse(id).success)) return `${resource}:${id}`;
      check.addIssue({
        code: 'custom',
        message: `expected a type and an id, as in workflow:<id>, received ${quote(text)}`,
      });
      return z.NEVER;
    })
    .optional()
    .describe(
      'One object, as `workflow:<id>`, or a whole type, as `workflow:*`, which is what creating asks for: the permissions on it. Absent: those of all types',
    ),
});

const Held = z.enum(permissions).meta({ id: 'Permission' });

export const HeldPermissions = z
  .object({
    permissions: z
      .array(Held)
      .describe('Those that the caller holds on every object of their type or, with `object`, on that object'),
    permissionsOnSome: z.array(Held).describe('Those that the caller holds on some objects of their type only'),
    homePageID: z
      .uuid()
      .nullable()
      .optional()
      .describe('Without `object`: the page in which a role lets the caller begin, if the caller may read it'),
  })
  .meta({
    id: 'HeldPermissions',
    examples: [{ permissions: ['workflow.list'], permissionsOnSome: ['workflow.read'] }],
  });

interface Named {
  roleName?: string | undefined;
  roleTitle?: string | undefined;
}

function named({ roleName, roleTitle }: Named) {
  return [roleName, roleTitle];
}

interface AliasedBody extends Named {
  rolePermissions?: (RolePermission | AssetGrant)[] | undefined;
  assetPermissions?: AssetGrant[] | undefined;
}

/** Splits permissions into those on a whole type and those on single assets, without duplicates. */
function withoutAliases<S extends AliasedBody>({
  rolePermissions,
  assetPermissions,
  roleName: _,
  roleTitle: __,
  ...rest
}: S) {
  const general = rolePermissions?.filter((permission) => typeof permission === 'string');
  const assets = rolePermissions?.filter((permission) => typeof permission !== 'string') ?? [];
  const single = assets.length > 0 ? [...assets, ...(assetPermissions ?? [])] : assetPermissions;
  return {
    ...rest,
    permissions: general && [...new Set(general)],
    assetPermissions: single && [...new Map(single.map((asset) => [Object.values(asset).join(), asset])).values()],
  };
}
