/** The rooms of the contract: a run's room is its bare id. */
export const rooms = {
  run: (instanceID: string) => instanceID,
  tenant: (tenantID: string) => `tenant:${tenantID}`,
  widget: (key: string) => `widget:${key}`,
  listenerTest: (listenerID: string) => `listener_test:${listenerID}`,
  /** Contains the tenant, because listeners of another tenant may name the same page. */
  appPage: (appPageID: string, tenantID: string) => `${pageRoom(appPageID)}@${tenantID}`,
};

/** The name by which clients join the rooms of a page. */
export function pageRoom(appPageID: string): string {
  return `listener:app_page:${appPageID}`;
}
