import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Membership } from '#shared/entities/tables/membership.ts';
import { Tenant } from '#shared/entities/tables/tenant.ts';
import { User as UserEntity } from '#shared/entities/tables/user.ts';
import { UserConfig as UserConfigEntity } from '#shared/entities/tables/user-config.ts';
import { publicRoute, userRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { tenantEntityManager } from '../../tenant/entity-manager.ts';
import { presentUser, presentUserConfig } from './present.ts';
import { SignIn, TenantID, User, UserConfig, UserConfigUpdate } from './schemas.ts';
import { saveUserConfig } from './user-config.ts';

export const accountRoutes = [
  publicRoute({
    name: 'getSignIn',
    method: 'get',
    path: '/api/v1/auth/sign-in',
    summary: 'Get how users sign in',
    description: 'Returns the public configuration by which a page in a browser signs users in.',
    response: z.object({ signIn: SignIn }),

    async handle(_request, { config: { auth, mcp }, access: { devIssuer } }) {
      const { issuer = null, audience = null, isBuiltIn } = auth;
      const hasDevelopmentIssuer = devIssuer !== undefined;
      return {
        signIn: {
          issuer,
          clientID: issuer && audience,
          isBuiltIn,
          mcpURL: mcp.publicURL ?? null,
          hasDevelopmentIssuer,
        },
      };
    },
  }),

  userRoute({
    name: 'getCurrentUser',
    method: 'get',
    path: '/api/v1/auth',
    summary: 'Get the current user',
    description: 'Returns the user that the ID token belongs to.',
    response: z.object({ user: User }),

    async handle({ identity, em }) {
      return { user: presentUser(await em.findOneOrFail(UserEntity, { id: identity.userID })) };
    },
  }),

  userRoute({
    name: 'getUserConfig',
    method: 'get',
    path: '/api/v1/auth/config/:tenantID',
    summary: "Get the current user's configuration",
    description: 'Returns what the current user has stored for one tenant, or an empty object.',
    params: TenantID,
    response: z.object({ userConfig: UserConfig }),
    errors: ['404'],

    async handle({ params: { tenantID }, identity: { userID }, em }) {
      const own = await findOwnTenant(em, { tenantID, userID });
      const stored = await own.findOne(UserConfigEntity, { userID });
      return { userConfig: presentUserConfig({ tenantID, userID }, stored) };
    },
  }),

  userRoute({
    name: 'setUserConfig',
    method: 'post',
    idempotent: false,
    path: '/api/v1/auth/config/:tenantID',
    summary: "Replace the current user's configuration",
    description: 'Stores any JSON object for the current user in one tenant. It replaces what was stored before.',
    params: TenantID,
    body: UserConfigUpdate,
    response: z.object({ userConfig: UserConfig, tenantID: z.uuid(), message: Message }),

    async handle({ params: { tenantID }, body: { config }, identity: { userID }, em }, { pool }) {
      await findOwnTenant(em, { tenantID, userID });
      const stored = await saveUserConfig(pool, { tenantID, userID, config });
      return {
        userConfig: presentUserConfig({ tenantID, userID }, stored),
        tenantID,
        message: 'Configuration saved',
      };
    },
  }),
];

/** The contract answers 404 here; a caller who is not a member gets the same answer. */
async function findOwnTenant(
  em: EntityManager,
  { tenantID, userID }: { tenantID: string; userID: string },
): Promise<EntityManager> {
  const own = tenantEntityManager(em, tenantID);
  const [membership, tenant] = await Promise.all([
    own.findOne(Membership, { tenantID, userID }),
    own.findOne(Tenant, { id: tenantID, deletingAt: null }),
  ]);
  if (!membership || !tenant) throw new AppError('NOT_FOUND', 'Tenant not found');
  return own;
}
