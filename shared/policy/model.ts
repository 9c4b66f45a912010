/**
 * Who (a user, an API key or one of their roles) may do what to which object in which tenant: some rule allows it and none denies it.
 * `keyMatch` reads an object up to its first `*`. `keyMatch2` would take the `:` of `workflow:*` for a path parameter
 * and match nothing, so that every grant on a whole type would silently be dead.
 */
export const MODEL = `
[request_definition]
r = sub, dom, obj, act

[policy_definition]
p = sub, dom, obj, act, eft

[role_definition]
g = _, _, _

[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))

[matchers]
m = g(r.sub, p.sub, r.dom) && r.dom == p.dom && keyMatch(r.obj, p.obj) && (r.act == p.act || p.act == "*")
`;
