package redact

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"whittle"
)

// TestNoSecretInAnyFormIsLeft writes one secret in the ways in which services and logs
// write them: none is left.
func TestNoSecretInAnyFormIsLeft(t *testing.T) {
	r := mustNew(t, Rules{})
	const s = "zqXb7Kp2mW9dLr4T"
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.abcDEF123456789_zqXb7Kp2"
	b64 := func(x string) string { return base64.StdEncoding.EncodeToString([]byte(x)) }
	base64URL := func(x string) string { return base64.RawURLEncoding.EncodeToString([]byte(x)) }
	body := func(kind, text string) held {
		return held{
			request:  whittle.Request{Method: "POST", Target: "/", Header: whittle.Header{"Content-Type": {kind}}, Body: []byte(text)},
			response: whittle.Response{Header: whittle.Header{"Content-Type": {kind}}, Body: []byte(text)},
		}
	}
	inJSON := func(x string) held { return body("application/json", x) }
	target := func(x string) held {
		return held{request: whittle.Request{Method: "GET", Target: x}, response: whittle.Response{Header: whittle.Header{"Location": {"https://e.com" + x}}}}
	}
	header := func(n, v string) held {
		return held{request: whittle.Request{Header: whittle.Header{n: {v}}}, response: whittle.Response{Header: whittle.Header{n: {v}}}}
	}
	login := `{"user":"bob","password":"` + s + `"}`
	for _, c := range []struct {
		name string
		h    held
		gone string
	}{
		{"json in string", inJSON(`{"body":"{\"password\":\"` + s + `\"}"}`), s},
		{"json 3 deep", inJSON(`{"a":"{\"b\":\"{\\\"client_secret\\\":\\\"` + s + `\\\"}\"}"}`), s},
		{"json 4 deep", inJSON(`{"a":"{\"b\":\"{\\\"c\\\":\\\"{\\\\\\\"api_key\\\\\\\":\\\\\\\"` + s + `\\\\\\\"}\\\"}\"}"}`), s},
		{"base64 of json, value", inJSON(`{"payload":"` + b64(login) + `"}`), b64(login)[20:]},
		{"base64url of json, value", inJSON(`{"payload":"` + base64URL(login) + `"}`), base64URL(login)[20:]},
		{"base64 of json, header", header("X-Context", b64(login)), b64(login)[20:]},
		{"base64 of json, query", target("/x?ctx=" + url.QueryEscape(b64(login))), b64(login)[20:40]},
		{"base64 data URI of json", inJSON(`{"u":"data:application/json;base64,` + b64(login) + `"}`), b64(login)[20:]},
		{"query in query", target("/go?u=" + url.QueryEscape("https://e.com/cb?access_token="+s)), s},
		{"query in query in query", target("/go?u=" + url.QueryEscape("https://e.com/cb?v="+url.QueryEscape("https://x/?api_key="+s))), s},
		{"json in query", target("/x?filter=" + url.QueryEscape(login)), s},
		{"json in query twice enc", target("/x?filter=" + url.QueryEscape(url.QueryEscape(login))), s},
		{"form in form", body("application/x-www-form-urlencoded", "a=1&data="+url.QueryEscape("user=b&password="+s)), s},
		{"json in form", body("application/x-www-form-urlencoded", "payload="+url.QueryEscape(login)), s},
		{"bracket form", body("application/x-www-form-urlencoded", "user[profile][password]="+s), s},
		{"bracket form enc", body("application/x-www-form-urlencoded", "user%5Bpassword%5D="+s), s},
		{"fragment", target("/cb#access_token=" + s + "&token_type=bearer"), s},
		{"semicolon query", target("/x?a=1;password=" + s), s},
		{"matrix", target("/x;token=" + s + "/y"), s},
		{"jwt path", target("/verify/" + jwt + "/done"), "abcDEF123"},
		{"jwt path ext", target("/v/" + jwt + ".json"), "abcDEF123"},
		{"jwt matrix", target("/v;t=" + jwt), "abcDEF123"},
		{"key in path pair", target("/reset/token/" + s), s},
		{"key in path pair 2", target("/api-key/" + s + "/use"), s},
		{"multipart field", body("multipart/form-data; boundary=X", "--X\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n"+s+"\r\n--X--\r\n"), s},
		{"multipart field single quotes", body("multipart/form-data; boundary=X", "--X\r\nContent-Disposition: form-data; name=password\r\n\r\n"+s+"\r\n--X--\r\n"), s},
		{"multipart json part", body("multipart/form-data; boundary=X", "--X\r\nContent-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n"+login+"\r\n--X--\r\n"), s},
		{"multipart bracket", body("multipart/form-data; boundary=X", "--X\r\nContent-Disposition: form-data; name=\"user[password]\"\r\n\r\n"+s+"\r\n--X--\r\n"), s},
		{"multipart filename", body("multipart/form-data; boundary=X", "--X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"token="+s+".txt\"\r\n\r\nx\r\n--X--\r\n"), s},
		{"multipart filename*", body("multipart/form-data; boundary=X", "--X\r\nContent-Disposition: form-data; name*=UTF-8''password\r\n\r\n"+s+"\r\n--X--\r\n"), s},
		{"graphql variables", inJSON(`{"query":"mutation($p:String!){login(password:$p){id}}","variables":{"password":"` + s + `"}}`), s},
		{"graphql input", inJSON(`{"variables":{"input":{"credentials":{"value":"` + s + `"}}}}`), s},
		{"graphql inline", inJSON(`{"query":"mutation{login(user:\"b\",password:\"` + s + `\"){id}}"}`), s},
		{"graphql inline newline", inJSON(`{"query":"mutation {\n login(\n  password: \"` + s + `\"\n ) { id } }"}`), s},
		{"graphql raw", body("application/graphql", `mutation{login(password:"`+s+`"){id}}`), s},
		{"graphql block string", body("application/graphql", `mutation{login(password:"""`+s+`"""){id}}`), s},
		{"graphql in query", target("/graphql?query=" + url.QueryEscape(`{me(apiKey:"`+s+`"){id}}`)), s},
		{"graphql vars in query", target("/graphql?variables=" + url.QueryEscape(`{"token":"`+s+`"}`)), s},
		{"set-cookie attrs", header("Set-Cookie", "sid="+s+"; Path=/; HttpOnly; SameSite=Lax"), s},
		{"set-cookie comma", header("Set-Cookie", "a=1; Path=/, sid="+s+"; Path=/"), s},
		{"set-cookie quoted", header("Set-Cookie", `a="`+s+`"; Secure`), s},
		{"set-cookie expires", header("Set-Cookie", "a="+s+"; Expires=Wed, 21 Oct 2026 07:28:00 GMT; token="+s), s},
		{"cookie in json", inJSON(`{"headers":{"Set-Cookie":"a=` + s + `; Path=/"}}`), s},
		{"cookie list in json", inJSON(`{"headers":{"set-cookie":["a=` + s + `; Path=/"]}}`), s},
		{"cookie log line", body("text/plain", "> Cookie: a="+s+"; b=c\n"), s},
		{"set-cookie log line", body("text/plain", "< Set-Cookie: a="+s+"; Path=/\n"), s},
		{"document.cookie", body("text/html", `<script>document.cookie = "a=`+s+`; path=/";</script>`), s},
		{"auth bearer", header("Authorization", "Bearer "+s), s},
		{"auth lower", header("Authorization", "bearer   "+s), s},
		{"auth no scheme", header("Authorization", s), s},
		{"auth Token token=", header("Authorization", `Token token="`+s+`", nonce="def"`), s},
		{"auth digest", header("Authorization", `Digest username="bob", response="`+s+`"`), s},
		{"auth AWS4", header("Authorization", "AWS4-HMAC-SHA256 Credential=AKIA/2026/us/s3/aws4_request, Signature="+s), s},
		{"auth hawk", header("Authorization", `Hawk id="x", mac="`+s+`"`), s},
		{"auth SharedKey", header("Authorization", "SharedKey acct:"+s), s},
		{"auth oauth1", header("Authorization", `OAuth oauth_signature="`+s+`"`), s},
		{"auth PrivateToken", header("Authorization", `PrivateToken token="`+s+`"`), s},
		{"private-token", header("Private-Token", s), s},
		{"x-amz-security-token", header("X-Amz-Security-Token", s), s},
		{"x-goog-iam", header("X-Goog-Iam-Authorization-Token", s), s},
		{"x-vault", header("X-Vault-Token", s), s},
		{"x-functions-key", header("X-Functions-Key", s), s},
		{"x-auth", header("X-Auth", s), s},
		{"api-key", header("Api-Key", s), s},
		{"x-hub-signature", header("X-Hub-Signature-256", "sha256="+s), s},
		{"stripe-signature", header("Stripe-Signature", "t=1,v1="+s), s},
		{"x-slack-signature", header("X-Slack-Signature", "v0="+s), s},
		{"dpop", header("Dpop", jwt), "abcDEF123"},
		{"x-forwarded-access-token", header("X-Forwarded-Access-Token", s), s},
		{"x-original-authorization", header("X-Original-Authorization", "Bearer "+s), s},
		{"x-parse-rest", header("X-Parse-Rest-Api-Key", s), s},
		{"link header", header("Link", "<https://e.com/x?access_token="+s+">; rel=next"), s},
		{"refresh header", header("Refresh", "0; url=https://e.com/x?token="+s), s},
		{"content-disposition", header("Content-Disposition", `attachment; filename="x?token=`+s+`"`), s},
		{"soap header", body("text/xml", `<soap:Envelope><soap:Header><wsse:Security><wsse:UsernameToken><wsse:Username>b</wsse:Username><wsse:Password Type="x#PasswordText">`+s+`</wsse:Password></wsse:UsernameToken></wsse:Security></soap:Header></soap:Envelope>`), s},
		{"soap login", body("text/xml", `<m:Login><m:userPassword>`+s+`</m:userPassword></m:Login>`), s},
		{"xml cdata", body("application/xml", `<a><password><![CDATA[`+s+`]]></password></a>`), s},
		{"xml attr", body("application/xml", `<user name="b" password='`+s+`'/>`), s},
		{"xml property", body("application/xml", `<property name="password" value="`+s+`"/>`), s},
		{"xml property text", body("application/xml", `<property name="password">`+s+`</property>`), s},
		{"xml add key", body("application/xml", `<add key="ApiKey" value="`+s+`"/>`), s},
		{"xml value first", body("application/xml", `<add value="`+s+`" key="ApiKey"/>`), s},
		{"saml", body("application/x-www-form-urlencoded", "SAMLResponse="+url.QueryEscape(b64("<saml>"+s+"</saml>"))), b64("<saml>" + s + "</saml>")[6:16]},
		{"log kv", body("text/plain", `level=info msg="login" password=`+s+` user=bob`), s},
		{"log quoted kv", body("text/plain", `level=info password="`+s+`"`), s},
		{"log go map", body("text/plain", "2026 map[password:"+s+" user:bob]"), s},
		{"log go struct", body("text/plain", "{User:bob Password:"+s+" Age:3}"), s},
		{"log go %#v", body("text/plain", `main.T{User:"bob", Password:"`+s+`"}`), s},
		{"log python dict", body("text/plain", "{'user': 'bob', 'password': '"+s+"'}"), s},
		{"log ruby hash", body("text/plain", `{"user"=>"bob", "password"=>"`+s+`"}`), s},
		{"log ruby sym", body("text/plain", `{:user=>"bob", :password=>"`+s+`"}`), s},
		{"log php array", body("text/plain", "Array\n(\n    [user] => bob\n    [password] => "+s+"\n)\n"), s},
		{"log java tostring", body("text/plain", "User(name=bob, password="+s+", age=3)"), s},
		{"log curl -H", body("text/plain", "curl -H 'X-Api-Key: "+s+"' https://e.com"), s},
		{"log cli flag", body("text/plain", "app --password "+s+" --user bob"), s},
		{"log cli flag=", body("text/plain", "app --db-password="+s), s},
		{"log env", body("text/plain", "export DB_PASSWORD="+s+"\n"), s},
		{"log json line", body("text/plain", `2026-01-01 INFO {"password":"`+s+`","u":1} done`), s},
		{"log nginx", body("text/plain", `1.2.3.4 - - [x] "GET /x?api_key=`+s+` HTTP/1.1" 200 5`), s},
		{"log referrer", body("text/plain", `"https://e.com/?token=`+s+`" "Mozilla"`), s},
		{"log sql", body("text/plain", "UPDATE users SET password='"+s+"' WHERE id=1"), s},
		{"log dsn", body("text/plain", "Server=db;User Id=bob;Password="+s+";Database=x"), s},
		{"log dsn kv", body("text/plain", "host=db user=bob password="+s+" dbname=x"), s},
		{"log redis", body("text/plain", "redis://:"+s+"@cache:6379/0"), s},
		{"log jdbc", body("text/plain", "jdbc:mysql://db/x?user=b&password="+s), s},
		{"log http dump", body("text/plain", "POST /x HTTP/1.1\r\nAuthorization: Basic "+b64("bob:"+s)+"\r\n\r\n"), b64("bob:" + s)},
		{"log escaped quotes", body("text/plain", `msg="body={\"password\":\"`+s+`\"}"`), s},
		{"log url enc", body("text/plain", "body=user%3Dbob%26password%3D"+s), s},
		{"yaml", body("application/yaml", "db:\n  password: "+s+"\n"), s},
		{"toml", body("application/toml", "[db]\npassword = \""+s+"\"\n"), s},
		{"ini", body("text/plain", "[db]\npassword="+s+"\n"), s},
		{"hcl", body("text/plain", "variable \"x\" {\n  password = \""+s+"\"\n}\n"), s},
		{"har header", inJSON(`{"log":{"entries":[{"request":{"headers":[{"name":"Authorization","value":"Bearer ` + s + `"}]}}]}}`), s},
		{"har value first", inJSON(`{"headers":[{"value":"` + s + `","name":"X-Api-Key"}]}`), s},
		{"har query", inJSON(`{"queryString":[{"name":"access_token","value":"` + s + `"}]}`), s},
		{"har cookie", inJSON(`{"cookies":[{"name":"sid","value":"` + s + `","path":"/"}]}`), s},
		{"har cookie other name", inJSON(`{"cookies":[{"name":"a","value":"` + s + `","path":"/","httpOnly":true}]}`), s},
		{"har postdata", inJSON(`{"postData":{"mimeType":"application/x-www-form-urlencoded","text":"user=bob&password=` + s + `"}}`), s},
		{"har postdata json", inJSON(`{"postData":{"text":"{\"password\":\"` + s + `\"}"}}`), s},
		{"har params", inJSON(`{"postData":{"params":[{"name":"password","value":"` + s + `"}]}}`), s},
		{"har content base64", inJSON(`{"content":{"encoding":"base64","text":"` + b64(login) + `"}}`), b64(login)[20:]},
		{"json k/v", inJSON(`[{"k":"password","v":"` + s + `"}]`), s},
		{"json raw headers", inJSON(`{"rawHeaders":["Authorization","Bearer ` + s + `","Host","h"]}`), s},
		{"json old/new", inJSON(`{"password":{"old":"` + s + `","new":"x"}}`), s},
		{"jsonrpc array", inJSON(`{"method":"login","params":{"passwd":"` + s + `"}}`), s},
		{"json number pin", inJSON(`{"pin":48151623}`), "48151623"},
		{"json unicode name", inJSON(`{"pass\u0077ord":"` + s + `"}`), s},
		{"json kebab", inJSON(`{"x-api-key":"` + s + `"}`), s},
		{"json german", inJSON(`{"passwort":"` + s + `"}`), s},
		{"json french", inJSON(`{"motDePasse":"` + s + `"}`), s},
		{"json spanish", inJSON(`{"contrasena":"` + s + `"}`), s},
		{"json spanish 2", inJSON(`{"contraseña":"` + s + `"}`), s},
		{"json ndjson", body("application/x-ndjson", "{\"a\":1}\n{\"password\":\""+s+"\"}\n"), s},
		{"json5", body("text/plain", "{password: '"+s+"', // x\n}"), s},
		{"jsonl SSE", body("text/event-stream", "event: x\ndata: {\"token\":\""+s+"\"}\n\n"), s},
		{"html input", body("text/html", `<input type="hidden" name="csrf_token" value="`+s+`">`), s},
		{"html textarea", body("text/html", `<textarea name="private_key">`+s+`</textarea>`), s},
		{"html data attr", body("text/html", `<div data-api-key="`+s+`">`), s},
		{"html js var", body("text/html", `<script>window.API_KEY="`+s+`"</script>`), s},
		{"html js obj", body("text/html", `<script>cfg({apiKey:'`+s+`'})</script>`), s},
		{"html entity json", body("text/html", `<div data-x="{&quot;token&quot;:&quot;`+s+`&quot;}">`), s},
		{"mail link", body("text/plain", "https://e.com/reset?reset_token="+s+"\n"), s},
		{"ws subprotocol", header("Sec-Websocket-Protocol", "bearer, "+s), s},
		{"k8s secret", body("application/yaml", "kind: Secret\ndata:\n  password: "+b64(s)+"\n"), b64(s)},
		{"docker auth", inJSON(`{"auths":{"r.io":{"auth":"` + b64("bob:"+s) + `"}}}`), b64("bob:" + s)},
		{"totp uri", inJSON(`{"u":"otpauth://totp/x?secret=` + s + `&issuer=y"}`), s},
		{"s3 presigned", target("/b/k?X-Amz-Signature=" + s + "&X-Amz-Credential=x"), s},
		{"gcs presigned", target("/b/k?X-Goog-Signature=" + s), s},
		{"azure sas", target("/b/k?sv=2020&sig=" + s), s},
		{"cloudfront", target("/b/k?Policy=x&Signature=" + s + "&Key-Pair-Id=A"), s},
	} {
		if left := leftOf(r, c.h); strings.Contains(left, c.gone) {
			t.Errorf("%s: %s is left in %s", c.name, c.gone, left)
		}
	}
}
