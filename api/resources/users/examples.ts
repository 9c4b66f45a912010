import { exampleIDs, exampleTimes } from '../../http/fields/example-ids.ts';

const { userID, roleID } = exampleIDs;

const person = {
  userID,
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: 'Lovelace',
  isDisabled: false,
  lastSeen: '2026-03-05T14:05:00.000Z',
  ...exampleTimes,
};

export const exampleUserAdd = { userEmail: 'grace@example.com', roleIDs: [roleID] };
export const exampleUserRoles = { roleIDs: [roleID] };

export const exampleTenantUser = {
  ...person,
  id: userID,
  tenantUserID: userID,
  isPending: false,
  isTenantAdmin: false,
  userTenantRelationship: 'MEMBER',
  roles: [{ roleID, roleName: 'Clerk' }],
  folderID: null,
  tenantUserFrom: exampleTimes.createdAt,
};

export const examplePerson = person;
