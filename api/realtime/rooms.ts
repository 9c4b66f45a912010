/** The rooms of the contract: a run's room is its bare id. */
export const rooms = {
  run: (instanceID: string) => instanceID,
  tenant: (tenantID: string) => `tenant:${tenantID}`,
};
