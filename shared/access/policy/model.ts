/**
 * A subject (a user, an API key or one of their roles) may do an action on an object in a tenant if a rule allows it and no rule
 * denies it. `keyMatch` compares objects up to the first `*`. `keyMatch2` would take the `:` of `workflow:*` for a path
 * parameter and match nothing, so that grants on whole types would have no effect, without an error.
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
