module sharespec/secondcore

go 1.26.0
