package openapi

import (
	"reflect"
	"testing"
)

// A document of Swagger 2.0 is the contract that the same one of OpenAPI 3 is.
func TestSwaggerIsReadAsOpenAPI(t *testing.T) {
	const swagger = `swagger: '2.0'
info: {title: Shop}
host: api.example.com
basePath: /v2
consumes: [application/xml, application/json]
produces: [application/json; charset=utf-8]
parameters:
  page: {name: page, in: query, type: integer, format: int32, required: true}
  pet: {name: pet, in: body, required: true, schema: {$ref: '#/definitions/Pet'}}
responses:
  gone: {description: gone, schema: {type: object, properties: {why: {type: string}}}}
definitions:
  Pet:
    type: object
    required: [name]
    properties: {name: {type: string}, tag: {type: string, x-nullable: true}, kind: {type: string, enum: [cat, dog]}}
paths:
  /pets:
    parameters: [{$ref: '#/parameters/page'}]
    get:
      operationId: listPets
      parameters:
        - {name: tags, in: query, type: array, items: {type: string}, collectionFormat: multi}
        - {name: ids, in: query, type: array, items: {type: integer}}
        - {name: X-Trace, in: header, type: string}
      responses:
        '200': {description: ok, schema: {type: array, items: {$ref: '#/definitions/Pet'}}}
        '410': {$ref: '#/responses/gone'}
    post:
      operationId: addPet
      parameters: [{$ref: '#/parameters/pet'}]
      responses: {'201': {description: made, schema: {$ref: '#/definitions/Pet'}}, '400': {description: no}}
  /pets/{id}:
    put:
      operationId: renamePet
      consumes: [application/x-www-form-urlencoded]
      produces: [text/plain]
      parameters:
        - {name: id, in: path, type: integer, format: int64, required: true}
        - {name: name, in: formData, type: string, required: true, description: what it is called}
        - {name: tags, in: formData, type: array, items: {type: string}}
      responses: {default: {description: ok, schema: {type: string}}}
    delete: {operationId: dropPet, parameters: [{name: id, in: path, type: string, required: true}], responses: {'204': {description: gone}}}
  /pets/{id}/picture:
    post:
      consumes: [multipart/form-data]
      parameters: [{name: file, in: formData, type: file}]
      responses: {'200': {description: ok}}
    get:
      responses: {'200': {description: ok, schema: {type: file}}}
`
	const openapi3 = `openapi: 3.0.3
info: {title: Shop}
servers: [{url: https://api.example.com/v2}]
components:
  schemas:
    Pet:
      type: object
      required: [name]
      properties: {name: {type: string}, tag: {type: string, nullable: true}, kind: {type: string, enum: [cat, dog]}}
paths:
  /pets:
    parameters: [{name: page, in: query, required: true, schema: {type: integer, format: int32}}]
    get:
      operationId: listPets
      parameters:
        - {name: tags, in: query, schema: {type: array, items: {type: string}}}
        - {name: ids, in: query, explode: false, schema: {type: array, items: {type: integer}}}
        - {name: X-Trace, in: header, schema: {type: string}}
      responses:
        '200': {description: ok, content: {application/json; charset=utf-8: {schema: {type: array, items: {$ref: '#/components/schemas/Pet'}}}}}
        '410': {description: gone, content: {application/json; charset=utf-8: {schema: {type: object, properties: {why: {type: string}}}}}}
    post:
      operationId: addPet
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
      responses: {'201': {description: made, content: {application/json; charset=utf-8: {schema: {$ref: '#/components/schemas/Pet'}}}}, '400': {description: no}}
  /pets/{id}:
    put:
      operationId: renamePet
      parameters: [{name: id, in: path, required: true, schema: {type: integer, format: int64}}]
      requestBody:
        required: true
        content: {application/x-www-form-urlencoded: {schema: {type: object, required: [name], properties: {name: {type: string, description: what it is called}, tags: {type: string}}}}}
      responses: {default: {description: ok, content: {text/plain: {schema: {type: string}}}}}
    delete: {operationId: dropPet, parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {'204': {description: gone}}}
  /pets/{id}/picture:
    post:
      requestBody: {content: {multipart/form-data: {schema: {type: object, properties: {file: {type: string, format: binary}}}}}}
      responses: {'200': {description: ok}}
    get:
      responses: {'200': {description: ok, content: {application/octet-stream: {}}}}
`
	a, errA := Read("api.yaml", []byte(swagger), nil)
	b, errB := Read("api.yaml", []byte(openapi3), nil)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if len(a.Methods) != 4 || string(a.Proto()) != string(b.Proto()) {
		t.Errorf("%d methods\n%s\n%s", len(a.Methods), a.Proto(), b.Proto())
	}
	for i := range a.Methods {
		if x, y := a.Methods[i], b.Methods[i]; !reflect.DeepEqual(x.HTTP, y.HTTP) || !reflect.DeepEqual(x.Failures, y.Failures) || len(x.Guesses) != len(y.Guesses) {
			t.Errorf("got %+v\nwant %+v", x, y)
		}
	}
	if len(a.Guesses) != 2 || a.Guesses[0].Evidence != "the response is application/octet-stream" || a.Guesses[1].Evidence != "the body is multipart/form-data" {
		t.Errorf("got %+v", a.Guesses)
	}
}
